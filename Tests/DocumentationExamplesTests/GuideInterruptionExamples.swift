import AdvancedOperations
import AdvancedOperationsTesting
import CoreOperations
import Synchronization
import Testing

@Test func `Exploring schedules: a cancel leaves an upload on the server`() throws {
  let print = Lines()

  final class Server: Sendable {
    private let open = Mutex<Set<String>>([])
    var orphans: [String] { open.withLock { $0.sorted() } }
    func begin(_ upload: String) { open.withLock { _ = $0.insert(upload) } }
    func end(_ upload: String) { open.withLock { _ = $0.remove(upload) } }
  }

  struct Orphaned: Error, CustomStringConvertible {
    let uploads: [String]
    var description: String { "Nothing completes or deletes \(uploads)." }
  }

  func cancelAtAnyMoment(deletes: Bool) throws -> InterruptionReport {
    try exploreInterruptions { simulation in
      let server = Server()
      let clock = simulation.environment.clock
      let upload = ResultOperation(name: "upload") {
        try await clock.sleep(for: .seconds(1))  // makes the photo smaller
        try Task.checkCancellation()
        server.begin("photo")
        do {
          try await clock.sleep(for: .seconds(2))  // the parts of the photo
        } catch {
          if deletes { server.end("photo") }
          throw error
        }
        server.end("photo")
      }
      let queue = AdvancedOperationQueue(environment: simulation.environment)
      queue.addOperation(upload)
      return (server, upload)
    } interrupt: { _, upload in
      upload.cancel()
    } check: { server, _ in
      if !server.orphans.isEmpty { throw Orphaned(uploads: server.orphans) }
    }
  }

  do {
    _ = try cancelAtAnyMoment(deletes: false)
  } catch let failure as ExpectationFailure {
    print(failure.message)
  }
  let report = try cancelAtAnyMoment(deletes: true)
  print(report.interruptionCount, "interruptions leave nothing on the server.")

  try expectShown(print, in: "ExploringSchedules", of: "AdvancedOperationsTesting")
}

@Test func `exploreInterruptions: an upload, and one moment of it`() throws {
  struct Orphan: Error {}

  final class Server: Sendable {
    var hasOrphans: Bool { false }
  }

  func makeUpload(to server: Server, _ clock: OperationClock) -> ResultOperation<Void> {
    ResultOperation { try await clock.sleep(for: .seconds(1)) }
  }

  try exploreInterruptions { simulation in
    let server = Server()
    let upload = makeUpload(to: server, simulation.environment.clock)
    AdvancedOperationQueue(environment: simulation.environment).addOperation(upload)
    return (server, upload)
  } interrupt: { _, upload in
    upload.cancel()
  } check: { server, upload in
    if server.hasOrphans { throw Orphan() }
  }

  func build(_ simulation: SimulatedEnvironment) -> AdvancedOperation {
    let upload = makeUpload(to: Server(), simulation.environment.clock)
    AdvancedOperationQueue(environment: simulation.environment).addOperation(upload)
    return upload
  }
  func cancel(_ upload: AdvancedOperation) { upload.cancel() }
  func hasNoOrphans(_ upload: AdvancedOperation) {}

  let report = try exploreInterruptions(of: build, interrupt: cancel, check: hasNoOrphans)
  print(report)
  #expect(report.isComplete)

  try exploreInterruptions(
    replayingStep: 5,
    seed: 2,
    of: build,
    interrupt: cancel,
    check: hasNoOrphans
  )
}
