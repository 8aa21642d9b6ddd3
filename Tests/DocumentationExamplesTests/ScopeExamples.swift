import AdvancedOperations
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
