import AdvancedOperations
import AdvancedOperationsTesting
import CoreOperations
import Synchronization
import Testing

@Test func `Results: values go from operation to operation`() async throws {
  let print = Lines()
  let feed = FeedServer()

  let queue = AdvancedOperationQueue()

  let download = ResultOperation(name: "download") { try await feed.download() }
  let events = download.then(name: "events") { text in try Feed(text).events }
  let stations = ResultOperation(name: "stations") { 12 }
  let map = ResultOperation(name: "map", after: events, stations) { events, stations in
    "\(events.count) events, \(stations) stations"
  }

  print(try await queue.run(map))

  try expectShown(print, in: "Results")
  #expect(try await download.value.hasPrefix("Chile"))
}

@Test func `Results: as many as there are servers`() async throws {
  let queue = AdvancedOperationQueue()
  let servers = [FeedServer(), FeedServer()]

  let pages = servers.map { server in ResultOperation { try await server.download() } }
  let book = ResultOperation(name: "book", afterAll: pages) { pages in
    pages.joined(separator: "\n")
  }

  #expect(try await queue.run(book).split(separator: "\n").count == 6)
}

@Test func `Results: another value when there is none`() async throws {
  let queue = AdvancedOperationQueue()
  let server = FeedServer(failures: 1)
  let download = ResultOperation(name: "download") { try await server.download() }

  let text = download.recover(name: "cached") { failure in
    guard failure.first(Offline.self) != nil else { throw failure }
    return "Chile 1960"
  }

  #expect(try await queue.run(text) == "Chile 1960")
  #expect(download.outcome?.isFailed == true)
}

@Test func `Results: without waiting`() {
  let log = Lines()
  let download = ResultOperation(name: "download") { "Chile 1960" }

  download.onFinish { download, _ in
    switch download.result {
    case .success(let text): log("got \(text)")
    case .failure(let failure): log("failed: \(failure.summary())")
    case nil: break
    }
  }

  simulate(download)
  #expect(log.all == ["got Chile 1960"])
}

@Test func `Results: of a callback`() async throws {
  struct Client: Sendable {
    func fetch(_ done: @escaping @Sendable (Result<String, any Error>) -> Void) {
      done(.success("Chile 1960"))
    }
  }
  let client = Client()
  let queue = AdvancedOperationQueue()

  let fetch = ResultOperation(name: "fetch") {
    try await withCheckedThrowingContinuation { continuation in
      client.fetch { result in continuation.resume(with: result) }
    }
  }

  #expect(try await queue.run(fetch) == "Chile 1960")
}

/// Calls back once: with an error when it is cancelled.
private final class Request: Sendable {
  private let done: Mutex<(@Sendable (Result<String, any Error>) -> Void)?>
  let isGoingOn = Mutex(false)

  init(_ done: @escaping @Sendable (Result<String, any Error>) -> Void) { self.done = Mutex(done) }

  func resume() { isGoingOn.withLock { $0 = true } }
  func cancel() { done.withLock { $0.take() }?(.failure(CancellationError())) }
}

@Test func `Results: of a callback that can be stopped`() throws {
  struct Client: Sendable {
    let requests = Lines()
    func request(_ done: @escaping @Sendable (Result<String, any Error>) -> Void) -> Request {
      requests("request")
      return Request(done)
    }
  }
  let client = Client()
  let simulation = SimulatedEnvironment(seed: 1)
  let queue = AdvancedOperationQueue(environment: simulation.environment)

  let fetch = ResultOperation(name: "fetch") {
    let request = Mutex<Request?>(nil)
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let made = client.request { result in continuation.resume(with: result) }
        request.withLock { $0 = made }
        made.resume()
        // A cancel may have come before there was anything to stop.
        if Task.isCancelled { made.cancel() }
      }
    } onCancel: {
      request.withLock { $0 }?.cancel()
    }
  }

  fetch.addObserver(TimeoutObserver(.seconds(30)))
  queue.addOperation(fetch)
  simulation.run()
  try expectOutcome(of: fetch, is: .cancelled)
  #expect(simulation.now == .seconds(30))
  #expect(client.requests.all == ["request"])
}

@Test func `Results: what becomes of an operation that needs a value`() {
  func ending(after first: ResultOperation<Void>) -> String {
    let next = first.then(name: "next") { _ in }
    simulate(first, next)
    let isInherited = next.outcome?.failure?.isInherited == true
    return next.ending.prefix { $0.isLetter } + (isInherited ? " because of another" : "")
  }
  #expect(ending(after: ResultOperation {}) == "succeeded")
  #expect(ending(after: ResultOperation { throw Offline() }) == "failed because of another")
  let cancelled = ResultOperation {}
  cancelled.cancel()
  #expect(ending(after: cancelled) == "failed because of another")
  #expect(ending(after: ResultOperation { throw OperationSkipped(reason: "") }) == "skipped")
}

@Test func `Results: an input isn't a dependency any more`() {
  let first = ResultOperation(name: "first") { 1 }
  let next = first.then(name: "next") { $0 }
  next.removeDependency(first)
  simulate(next)
  #expect(next.ending.hasPrefix("failed"))
}

@Test func `Results: the body runs once, for however many need its value`() async throws {
  let runs = Lines()
  let queue = AdvancedOperationQueue()
  let shared = ResultOperation(name: "shared") {
    runs("once")
    return 1
  }
  let sums = (1...3).map { number in shared.then { $0 + number } }
  let total = ResultOperation(afterAll: sums) { $0.reduce(0, +) }
  #expect(try await queue.run(total) == 9)
  #expect(try await shared.value == 1)
  #expect(runs.all == ["once"])
}
