import AdvancedOperations
import AdvancedOperationsTesting
import CoreOperations
import Testing

@Test func `Async/await: from tasks to operations, and back`() async throws {
  let print = Lines()
  let feed = FeedServer()

  let queue = AdvancedOperationQueue()

  func loadEvents() async throws -> [String] {
    let download = ResultOperation(name: "download") { try await feed.download() }
    let parse = download.then(name: "parse") { text in try Feed(text).events }
    return try await queue.run(parse)
  }

  let events = try await loadEvents()
  print("\(events.count) events, the first is \(events[0])")
  try expectShown(print, in: "AsyncAwait")
}

@Test func `Async/await: the values of a sequence`() async throws {
  let print = Lines()
  @Sendable func links(on address: String) async throws -> [String] {
    ["/": ["/a", "/b"], "/a": ["/c"]][address] ?? []
  }
  let addresses = AsyncStream { continuation in
    for address in ["/", "/a", "/b"] { continuation.yield(address) }
    continuation.finish()
  }

  let pages = addresses.mapOperations(maxConcurrentOperationCount: 2) { address in
    ResultOperation(name: address) { try await links(on: address) }
  }
  for try await links in pages { print(links) }

  try expectShown(print, in: "AsyncAwait")
}

@Test func `Async/await: a body that waits for what it holds up`() async throws {
  let print = Lines()

  let queue = AdvancedOperationQueue(maxConcurrentOperationCount: 1)
  let outer = ResultOperation(name: "outer") {
    let inner = ResultOperation(name: "inner") { 1 }
    return try await queue.run(inner)
  }
  do {
    print(try await queue.run(outer))
  } catch {
    print(error)
  }
  try expectShown(print, in: "AsyncAwait")
}

@Test func `Async/await: a body that releases its slot while it awaits`() async throws {
  let print = Lines()

  let queue = AdvancedOperationQueue(maxConcurrentOperationCount: 1)
  let outer = ResultOperation(name: "outer") {
    let inner = ResultOperation(name: "inner") { 1 }
    return try await releasingSlot { try await queue.run(inner) } + 1
  }
  print(try await queue.run(outer))
  try expectShown(print, in: "AsyncAwait")
}

@Test func `Async/await: a task that is cancelled`() async throws {
  let simulation = SimulatedEnvironment(seed: 1)
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  let clock = simulation.environment.clock
  let download = ResultOperation(name: "download") { try await clock.sleep(for: .seconds(60)) }
  let run = Task { try await queue.run(download) }
  run.cancel()
  await #expect(throws: CancellationError.self) { try await run.value }
  simulation.run()
  #expect(download.outcome?.isCancelled == true)
}

@Test func `Async/await: nothing outlives a scope`() async throws {
  let feed = FeedServer()
  let events = try await withOperations { scope in
    let download = scope.add(ResultOperation(name: "download") { try await feed.download() })
    let parse = scope.add(download.then(name: "parse") { text in try Feed(text).events })
    return try await parse.value
  }
  #expect(events.count == 3)
}

@Test func `Async/await: untilFinished throws no failure`() async throws {
  let operation = ResultOperation { throw Offline() }
  AdvancedOperationQueue().addOperation(operation)
  try await operation.untilFinished()
  #expect(operation.outcome?.isFailed == true)
}

@Test func `Async/await: a scope in a body needs no slot of the queue`() async throws {
  let queue = AdvancedOperationQueue(maxConcurrentOperationCount: 1)
  let outer = ResultOperation(name: "outer") {
    try await withOperations { scope in
      try await scope.add(ResultOperation(name: "inner") { 1 }).value
    }
  }
  #expect(try await queue.run(outer) == 1)
}

@Test func `Async/await: the failure of an operation that a body awaits`() async throws {
  let print = Lines()
  let queue = AdvancedOperationQueue()
  let feed = FeedServer(failures: 1)

  let inner = ResultOperation(name: "inner") { try await feed.download() }
  let outer = ResultOperation(name: "outer") {
    let text = try await queue.run(inner)
    return try Feed(text).events.count
  }
  do {
    print(try await queue.run(outer))
  } catch {
    print(error)
  }
  try expectShown(print, in: "AsyncAwait")
  #expect(outer.outcome?.failure?.first(Offline.self) != nil)
}
