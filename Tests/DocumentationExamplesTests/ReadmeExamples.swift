import AdvancedOperations
import AdvancedOperationsTesting
import Foundation
import Testing

/// What the README has in place of a network and a database.
private protocol Surroundings: Sendable {
  var isOnline: Bool { get }
  func fetchFeed() async throws -> String
  func save(_ feed: String) async throws -> Int
}

private struct Shown: Surroundings {
  let isOnline = false
  func fetchFeed() async throws -> String { "Chile 1960\nAlaska 1964\nSumatra 2004" }
  func save(_ feed: String) async throws -> Int { feed.split(separator: "\n").count }
}

/// The same, as the README says that it can be changed.
private struct Online: Surroundings {
  let isOnline = true
  func fetchFeed() async throws -> String { try await Shown().fetchFeed() }
  func save(_ feed: String) async throws -> Int { try await Shown().save(feed) }
}

extension Surroundings {
  fileprivate func run(print: Lines) async throws {
    let retry = RetryPolicy.exponential(.seconds(1), attempts: 3)
    let download = ResultOperation(name: "download", retry: retry) {
      try await fetchFeed()
    }
    download.addCondition(BlockCondition("online") { isOnline })
    download.addObserver(TimeoutObserver(.seconds(30)))

    let store = download.then(name: "store") { feed in try await save(feed) }
    store.addCondition(FreeSpace(atLeast: 50_000_000, at: "/tmp"))
    store.addCondition(MutuallyExclusive("database"))

    let queue = AdvancedOperationQueue()
    queue.addOperations([download, store])
    do {
      print("saved \(try await store.value) events")
    } catch let failure as OperationFailure {
      print("not saved:\n\(failure)")
    }
  }
}

struct Weekday: OperationCondition {
  let isWeekend: @Sendable () -> Bool

  func evaluate(for operation: AdvancedOperation) async -> OperationConditionResult {
    isWeekend() ? .skipped(reason: "it is the weekend") : .satisfied
  }
}

struct Failures: OperationObserver {
  let report: @Sendable (String) -> Void

  func operationDidFinish(_ operation: AdvancedOperation, errors: [any Error]) {
    guard let failure = operation.outcome?.failure else { return }
    report("\(operation.name ?? "operation"): \(failure.summary())")
  }
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
        request.stop()  // has to end with the callback: it is what ends the body
      }
    }
    return load
  }
}

@Suite struct `README` {
  private var text: String {
    get throws { try String(contentsOf: repository.appending(path: "README.md"), encoding: .utf8) }
  }

  @Test func `without network the failure says where it came from, as it is shown`() async throws {
    let print = Lines()
    try await Shown().run(print: print)
    #expect(try text.contains("\n```\n\(print.all.joined(separator: "\n"))\n```\n"))
  }

  @Test func `with network the events are saved, as it says`() async throws {
    let print = Lines()
    try await Online().run(print: print)
    #expect(print.all == ["saved 3 events"])
    #expect(try text.contains("prints `saved 3 events`"))
  }

  @Test func `a condition and an observer of one's own are asked and called`() throws {
    let printed = Lines()
    let simulation = SimulatedEnvironment(seed: 1)
    let queue = AdvancedOperationQueue(environment: simulation.environment)
    queue.addObserver(Failures { printed($0) })
    let skipped = ResultOperation(name: "skipped") {}
    skipped.addCondition(Weekday { true })
    let failing = ResultOperation(name: "failing") { throw Offline() }
    failing.addCondition(Weekday { false })
    queue.addOperations([skipped, failing])
    simulation.run()
    #expect(printed.all.count == 1)
    #expect(printed.all.first?.contains("failing") == true)
    #expect(skipped.outcome?.isSkipped == true)
  }

  /// Says how an operation ended, as the README has it.
  private func tell(_ operation: AdvancedOperation, print: Lines) {
    switch operation.outcome {
    case .succeeded: print("done")
    case .skipped(let reason): print("nothing to do: \(reason)")
    case .failed(let failure), .cancelled(let failure):
      if failure.isTimeout { print("too late") }  // a timeout cancels: the outcome is .cancelled
      if failure.isInherited { print("something that it needs failed") }
      if let down = failure.first(ServerDown.self) { print("status \(down.status)") }
      for cause in failure.rootCauses { print("\(cause.origin): \(cause.error)") }
      print(failure.summary())  // all of it on one line
    case nil: print("not over")
    }
  }

  @Test func `an outcome says how it ended, and where`() throws {
    let printed = Lines()
    let simulation = SimulatedEnvironment(seed: 1)
    let clock = simulation.environment.clock
    let queue = AdvancedOperationQueue(environment: simulation.environment)
    let first = ResultOperation(name: "first") { throw ServerDown(status: 503) }
    let second = first.then(name: "second") {}
    let third = ResultOperation(name: "third") { try await clock.sleep(for: .seconds(60)) }
    third.addObserver(TimeoutObserver(.seconds(30)))
    let fourth = ResultOperation(name: "fourth") { throw OperationSkipped(reason: "no work") }
    let fifth = ResultOperation(name: "fifth") {}
    queue.addOperations([first, second, third, fourth])
    tell(fifth, print: printed)
    queue.addOperation(fifth)
    simulation.run()
    for operation in [first, second, third, fourth, fifth] { tell(operation, print: printed) }
    #expect(
      printed.all == [
        "not over",
        "status 503", "body: The server is down.", "The server is down.",
        "something that it needs failed", "status 503",
        "dependency “first”, body: The server is down.",
        "dependency “first”: The server is down.",
        "too late", "timeout: It took longer than 30 s.",
        "timed out: It took longer than 30 s.",
        "nothing to do: no work", "done",
      ]
    )
  }

  @Test func `a callback that gives a value is stopped by a cancel`() throws {
    let simulation = SimulatedEnvironment(seed: 1)
    let queue = AdvancedOperationQueue(environment: simulation.environment)
    let load = Values.load()
    queue.addOperation(load)
    simulation.run()
    load.cancel()
    simulation.run()
    #expect(load.outcome?.isCancelled == true)
  }

  @Test func `two values, a fallback, a rate, units and a run are a line each`() async throws {
    let printed = Lines()
    let print = printed
    let queue = AdvancedOperationQueue()
    let events = ResultOperation(name: "events") { 3 }
    let places = ResultOperation(name: "places") { () -> Int in throw Offline() }
    // One that needs two values, and one with a fallback.
    let map = ResultOperation(name: "map", after: events, places) { "\($0) events, \($1) places" }
    let drawn = map.recover(name: "drawn") { failure in "no map: \(failure.summary())" }
    // No more than ten a second; and two of eight units of something, of which others hold the rest.
    drawn.addCondition(RateLimit("api", 10, per: .seconds(1)))
    drawn.addCondition(ResourceUnits(2, of: ResourcePool("cores", capacity: 8)))
    // Adds it and all that it needs, and gives the value.
    print(try await queue.run(drawn))
    #expect(printed.all.count == 1)
    #expect(printed.all.first?.hasPrefix("no map: dependency “places”: ") == true)
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

  @Test func `a server that doesn't answer is given up after half a minute`() throws {
    let simulation = SimulatedEnvironment(seed: 1)
    let clock = simulation.environment.clock
    let queue = AdvancedOperationQueue(environment: simulation.environment)
    let download = ResultOperation(name: "download") { try await clock.sleep(for: .seconds(3600)) }
    download.addObserver(TimeoutObserver(.seconds(30)))
    let store = download.then(name: "store") { "stored" }

    queue.addOperations([download, store])
    simulation.run()

    #expect(simulation.now == .seconds(30))
    #expect(download.outcome?.failure?.isTimeout == true)
    #expect(store.outcome?.isSuccess == false)
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
    let download = ResultOperation(name: "download", retry: .constant(.seconds(1), attempts: 3)) {
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
    for writer in [vacuum, store] { writer.addCondition(MutuallyExclusive("database")) }
    queue.addOperations([locate, vacuum, thumbnails, download, validate, parse])
    queue.addOperations([store, report, map, letter])
    simulation.run()
    return recorder.svg
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

  let download = ResultOperation(name: "download", retry: .exponential(.seconds(1), attempts: 4)) {
    try await feed.download()
  }
  download.addCondition(BlockCondition("online") { await network.isReachable })
  download.addObserver(TimeoutObserver(.seconds(30)))

  let store = download.then(name: "store") { data in try await database.save(data) }
  store.addCondition(MutuallyExclusive("database"))

  queue.addOperations([download, store])
  let saved = try await store.value

  #expect(saved == 3)
}
