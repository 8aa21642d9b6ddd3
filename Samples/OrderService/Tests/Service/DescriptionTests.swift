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

  @Test func `Each operation lists the answers of the rules for requests`() async throws {
    try await Bench().test { client in
      let description = try await client.get("/openapi.json").json
      let paths = try #require(description["paths"] as? [String: [String: [String: Any]]])
      for (path, methods) in paths {
        for (method, operation) in methods {
          let answers = try #require(operation["responses"] as? [String: [String: Any]])
          let isTagged = (answers["200"]?["headers"] as? [String: Any])?["ETag"] != nil
          #expect(answers["417"] != nil, "\(method) \(path)")
          #expect((answers["304"] != nil) == isTagged, "\(method) \(path)")
          #expect((answers["408"] != nil) == (operation["requestBody"] != nil), "\(method) \(path)")
        }
      }
    }
  }
}
