import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Testing

@testable import OrderHTTP

/// The description of the interface; `Tests/check-interface` runs requests against it.
@Suite struct DescriptionTests {
  @Test func `All routes are described, except those of the page`() async throws {
    let bench = try Bench()
    try await bench.test { [bench] client in
      let description = try await client.get("/openapi.json")
      #expect(description.status == .ok)
      #expect(description.headers[.contentType] == "application/json")
      let paths = try #require(try description.json["paths"] as? [String: [String: Any]])
      let described = paths.flatMap { path, methods in methods.keys.map { "\($0) \(path)" } }
      let page = ["get /", "get /page.css", "get /page.js", "get /live", "get /openapi.json"]
      let routes = bench.server.router().routes.map { route in
        let parts = route.path.description.split(separator: "/").map { part in
          part.hasPrefix(":") ? "{\(part.dropFirst())}" : String(part)
        }
        return "\(route.method.rawValue.lowercased()) /\(parts.joined(separator: "/"))"
      }
      #expect(Set(described).union(page) == Set(routes))
    }
  }
}
