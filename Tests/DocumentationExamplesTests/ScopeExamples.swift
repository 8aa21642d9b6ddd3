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
