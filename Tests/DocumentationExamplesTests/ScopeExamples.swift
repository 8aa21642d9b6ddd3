import AdvancedOperations
import AdvancedOperationsTesting
import Testing

private typealias Thumbnails = AdvancedOperation

private final class Probe: AdvancedOperation, @unchecked Sendable {
  init(_ mirror: String) {
    super.init()
    name = mirror
  }
}

@Test func `withOperations: nothing outlives the scope`() async throws {
  let feed = FeedServer()

  let events = try await withOperations { scope in
    let download = scope.add(ResultOperation(name: "download") { try await feed.download() })
    let parse = scope.add(download.then(name: "parse") { data in try Feed(data).events })
    scope.add(Thumbnails())
    return try await parse.value
  }

  #expect(events.count == 3)
}

private struct Photo: Sendable {
  let name: String
  func thumbnail() async throws -> String { "small \(name)" }
}

private actor Gallery {
  private(set) var thumbnails: [String] = []
  func add(_ thumbnail: String) { thumbnails.append(thumbnail) }
}

@Test func `mapOperations: the values in the order of the elements`() async throws {
  let gallery = Gallery()
  let photos = AsyncStream { continuation in
    for name in ["beach", "forest"] { continuation.yield(Photo(name: name)) }
    continuation.finish()
  }

  let thumbnails = photos.mapOperations(maxConcurrentOperationCount: 4) { photo in
    ResultOperation(name: photo.name) { try await photo.thumbnail() }
  }
  for try await thumbnail in thumbnails { await gallery.add(thumbnail) }

  #expect(await gallery.thumbnails == ["small beach", "small forest"])
}

@Test func `AdvancedOperation: a deadline`() throws {
  struct Request { let arrival: Duration }
  let simulation = SimulatedEnvironment(seed: 1)
  let request = Request(arrival: simulation.now)
  let order = ResultOperation {
    try await OperationClock.current.sleep(for: .seconds(60))
  }

  order.deadline = request.arrival + .seconds(10)

  AdvancedOperationQueue(environment: simulation.environment).addOperation(order)
  simulation.run()
  #expect(simulation.now == .seconds(10))
  #expect(order.outcome?.failure?.isTimeout == true)
}

@Test func `OperationScope: operations are added while it lasts`() async throws {
  let mirrors = ["north", "south"]

  try await withOperations { scope in
    for mirror in mirrors { scope.add(Probe(mirror)) }
  }
}

private final class Logger: Sendable {
  let lines = Lines()
  func info(_ line: String) { lines(line) }
}

private struct QuotaExceeded: Error {}

@Test func `OperationScope: all that is in it is cancelled for one reason`() async throws {
  await #expect(throws: OperationFailure.self) {
    try await withOperations { scope in
      let probe = scope.add(ResultOperation { try await Task.sleep(for: .seconds(3600)) })
      scope.cancelAll(withError: QuotaExceeded())
      _ = try? await probe.value
    }
  }
}

@Test func `OperationScope: an observer is attached to each operation`() async throws {
  let logger = Logger()

  try await withOperations { scope in
    scope.addObserver(LogObserver { line in logger.info(line) })
    scope.add(Probe("north"))
  }

  #expect(!logger.lines.all.isEmpty)
}
