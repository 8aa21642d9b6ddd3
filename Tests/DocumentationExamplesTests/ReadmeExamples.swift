import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedOperationsVisualization
import Foundation
import Testing

/// The program of *Quick start*.
private func quickStart(print: Lines) async throws {
  // 1. Create an operation from an async closure. The policy retries the closure if it throws.
  let retry = RetryPolicy.exponential(.seconds(1)).attempts(3)
  let download = ResultOperation(name: "download", retry: retry) { "Chile 1960\nAlaska 1964" }

  // 2. Attach a condition, which is checked before the closure runs, and a time limit.
  download.addCondition(BlockCondition("online") { false })
  download.addObserver(TimeoutObserver(.seconds(30)))

  // 3. Pass its value to a second operation. Its claim excludes others.
  let store = download.then(name: "store") { feed in feed.split(separator: "\n").count }
  store.addClaim(MutuallyExclusive("database"))

  // 4. Run the second operation, and all operations that it needs, and await its value.
  let queue = AdvancedOperationQueue()
  do {
    print("stored \(try await queue.run(store)) events")
  } catch let failure as OperationFailure {
    print("not stored:\n\(failure)")
  }
}

/// The same with a condition that returns true.
private func quickStartOnline(print: Lines) async throws {
  let download = ResultOperation(name: "download") { "Chile 1960\nAlaska 1964" }
  download.addCondition(BlockCondition("online") { true })
  let store = download.then(name: "store") { feed in feed.split(separator: "\n").count }
  print("stored \(try await AdvancedOperationQueue().run(store)) events")
}

/// The program of *Find out why an operation isn't running*, which nothing runs: it takes a minute.
private func explainedProgram() async throws {
  let queue = AdvancedOperationQueue()
  let backup = ResultOperation(name: "backup") { try await Task.sleep(for: .seconds(60)) }
  let report = ResultOperation(name: "report") {}
  for operation in [backup, report] { operation.addClaim(MutuallyExclusive("database")) }
  queue.addOperation(backup)

  try await Task.sleep(for: .seconds(4))
  queue.addOperation(report)
  try await Task.sleep(for: .seconds(1))
  print(report.explain())
}

/// The same, after five seconds of virtual time.
private func explained(print: Lines) {
  let simulation = SimulatedEnvironment(seed: 1)
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  let clock = simulation.environment.clock
  let backup = ResultOperation(name: "backup") { try await clock.sleep(for: .seconds(60)) }
  let report = ResultOperation(name: "report") {}
  for operation in [backup, report] { operation.addClaim(MutuallyExclusive("database")) }
  queue.addOperation(backup)
  simulation.advance(by: .seconds(4))
  queue.addOperation(report)
  simulation.advance(by: .seconds(1))
  print(report.explain())
}

private struct ServerDown: Error, CustomStringConvertible {
  let status: Int
  var description: String { "The server is down." }
}

private enum Callbacks {
  final class Request: Sendable {
    typealias Callback = @Sendable (ServerDown?) -> Void

    private let state = Locked((callback: nil as Callback?, isStopped: false))

    var isStopped: Bool { state.withLock { $0.isStopped } }

    func send(_ callback: @escaping Callback) { state.withLock { $0.callback = callback } }

    func answer(_ error: ServerDown?) { state.withLock { $0.callback }?(error) }

    func stop() { state.withLock { $0.isStopped = true } }
  }

  final class Load: AdvancedOperation, @unchecked Sendable {
    let request = Request()

    override func execute() {
      request.send { error in self.finish(withError: error) }  // nil: it succeeded
    }

    // May be called before execute() has returned.
    override func cancelled(withErrors errors: [any Error]) { request.stop() }
  }
}

private enum Values {
  final class Request: Sendable {
    typealias Callback = @Sendable (Result<Int, any Error>) -> Void

    private let state = Locked((callback: nil as Callback?, isStopped: false))

    func load(_ callback: @escaping Callback) {
      let isStopped = state.withLock { state in
        state.callback = callback
        return state.isStopped
      }
      if isStopped { callback(.failure(CancellationError())) }
    }

    func stop() {
      let callback = state.withLock { state in
        state.isStopped = true
        return state.callback
      }
      callback?(.failure(CancellationError()))
    }
  }

  static func load() -> ResultOperation<Int> {
    let load = ResultOperation(name: "load") {
      let request = Request()
      return try await withTaskCancellationHandler {
        try await withCheckedThrowingContinuation { continuation in
          request.load { result in continuation.resume(with: result) }
        }
      } onCancel: {
        request.stop()  // calls the callback with an error
      }
    }
    return load
  }
}

@Suite struct `README` {
  private var text: String {
    get throws { try String(contentsOf: repository.appending(path: "README.md"), encoding: .utf8) }
  }

  private func expectOutput(_ print: Lines) throws {
    #expect(try text.contains("\n```\n\(print.all.joined(separator: "\n"))\n```\n"))
  }

  @Test func `the quick start prints what is shown`() async throws {
    let print = Lines()
    try await quickStart(print: print)
    try expectOutput(print)
  }

  @Test func `the quick start stores two events if its condition returns true`() async throws {
    let print = Lines()
    try await quickStartOnline(print: print)
    #expect(print.all == ["stored 2 events"])
    #expect(try text.contains("`stored 2 events`"))
  }

  @Test func `an explanation is what is shown`() throws {
    let print = Lines()
    explained(print: print)
    try expectOutput(print)
  }

  @Test func `a callback that returns a value is stopped by a cancel`() throws {
    let simulation = SimulatedEnvironment(seed: 1)
    let queue = AdvancedOperationQueue(environment: simulation.environment)
    let load = Values.load()
    queue.addOperation(load)
    simulation.run()
    load.cancel()
    simulation.run()
    #expect(load.outcome?.isCancelled == true)
  }

  @Test func `a callback that fails, or is stopped, ends the operation around it`() throws {
    let simulation = SimulatedEnvironment(seed: 1)
    let queue = AdvancedOperationQueue(environment: simulation.environment)
    let (failing, stopped) = (Callbacks.Load(), Callbacks.Load())
    queue.addOperations([failing, stopped])
    simulation.run()
    failing.request.answer(ServerDown(status: 503))
    stopped.cancel()
    simulation.run()
    #expect(failing.outcome?.failure?.first(ServerDown.self)?.status == 503)
    #expect(stopped.outcome?.isCancelled == true)
    #expect(stopped.request.isStopped)
    #expect(!failing.request.isStopped)
  }

  @Test(arguments: SimulatedEnvironment.seeds)  // each seed takes another order of events
  func `offline, nothing is downloaded`(seed: UInt64) throws {
    let simulation = SimulatedEnvironment(seed: seed)
    let clock = simulation.environment.clock
    let queue = AdvancedOperationQueue(environment: simulation.environment)
    let download = ResultOperation(name: "download") { "Chile 1960" }
    download.addCondition(
      BlockCondition("online") {
        try await clock.sleep(for: .seconds(30))  // a slow network
        return false
      }
    )

    queue.addOperation(download)
    simulation.run()

    try expectConditionFailure(
      of: download,
      as: BlockCondition.NotSatisfied.self,
      condition: "online"
    )
    #expect(!download.hasStarted)
    #expect(simulation.now == .seconds(30))
  }

  @Test func `a log observer of the queue prints what happens`() throws {
    let print = Lines()
    let simulation = SimulatedEnvironment(seed: 1)
    let queue = AdvancedOperationQueue(environment: simulation.environment)
    queue.addObserver(LogObserver { print($0) })
    queue.addOperation(ResultOperation(name: "store") {})
    simulation.run()
    #expect(print.all.contains { $0.contains("store") })
  }

  @Test func `no link leads to a file that isn't there`() throws {
    for file in ["README.md", "CONTRIBUTING.md", "Samples/README.md", "CHANGELOG.md"] {
      let path = repository.appending(path: file)
      let text = try String(contentsOf: path, encoding: .utf8)
      let links = text.matches(of: /\]\(([^)#:]+)(?:#[^)]*)?\)|\n\[[^\]]+\]: ([^\s:#]+)(?:#\S*)?/)
      for link in links {
        let target = String(link.output.1 ?? link.output.2 ?? "")
        let there = path.deletingLastPathComponent().appending(path: target)
        #expect(FileManager.default.fileExists(atPath: there.path), "\(file): \(target)")
      }
    }
  }

  /// Draws the picture again: a night's import in a simulation, equal each time.
  @Test func `the timeline is what the package draws, here and in the tutorial`() throws {
    try expectPicture(Night().timeline(), "timeline")
  }
}

/// The folder with the README.
private let repository = URL(fileURLWithPath: #filePath).appendingPathComponent("../../..")
  .standardized

/// An import with all that a timeline shows.
private struct Night {
  private let simulation = SimulatedEnvironment(seed: 1)

  private func taking(_ seconds: Double, _ name: String) -> ResultOperation<Void> {
    let clock = simulation.environment.clock
    return ResultOperation(name: name) { try await clock.sleep(for: .seconds(seconds)) }
  }

  func timeline() throws -> String {
    let clock = simulation.environment.clock
    let queue = AdvancedOperationQueue(
      maxConcurrentOperationCount: 4,
      environment: simulation.environment
    )
    let recorder = TimelineRecorder()
    queue.addObserver(recorder)

    let locate = taking(0.4, "locate")
    let attempts = Attempts()
    let download = ResultOperation(name: "download", retry: .constant(.seconds(1)).attempts(3)) {
      try await clock.sleep(for: .seconds(1.5))
      if attempts.next() == 1 { throw Offline() }
    }
    download.addCondition(
      BlockCondition("online") {
        do { try await clock.sleep(for: .seconds(0.6)) } catch { return false }
        return true
      }
    )
    download.addDependency(locate)
    let (vacuum, thumbnails) = (taking(7.4, "vacuum"), taking(2.5, "thumbnails"))
    let (validate, parse) = (taking(0.8, "validate"), taking(1.8, "parse"))
    let store = GroupOperation(name: "store") {
      taking(1.6, "events")
      taking(0.9, "places")
    }
    let report = taking(0.7, "report")
    let map = taking(1.4, "map")
    let letter = taking(0.5, "letter of apology")
    for (later, earlier) in [
      (validate, download), (parse, download), (store, validate), (store, parse), (report, store),
      (map, store), (letter, store),
    ] as [(AdvancedOperation, AdvancedOperation)] { later.addDependency(earlier) }
    letter.addCondition(BlockCondition("needed") { _ in .skipped(reason: "all is well") })
    for writer in [vacuum, store] { writer.addClaim(MutuallyExclusive("database")) }
    queue.addOperations([locate, vacuum, thumbnails, download, validate, parse])
    queue.addOperations([store, report, map, letter])
    simulation.run()
    return recorder.timeline.svg()
  }
}

private final class Attempts: Sendable {
  private let count = Locked(0)

  func next() -> Int {
    count.withLock { count in
      count += 1
      return count
    }
  }
}

@Test func `AdvancedOperations: work is composed, guarded and awaited`() async throws {
  let queue = AdvancedOperationQueue()
  let (feed, database, network) = (FeedServer(), Database(), Answer(true))

  let download = ResultOperation(name: "download", retry: .exponential(.seconds(1)).attempts(4)) {
    try await feed.download()
  }
  download.addCondition(BlockCondition("online") { await network.isReachable })
  download.addObserver(TimeoutObserver(.seconds(30)))

  let store = download.then(name: "store") { data in try await database.save(data) }
  store.addClaim(MutuallyExclusive("database"))

  queue.addOperations([download, store])
  let saved = try await store.value

  #expect(saved == 3)
}
