import Foundation
import Testing

/// What a service that runs counts of its requests: metrics are set up once for a program.
@Suite(.serialized) struct ServedMetricsTests {
  private let folder: ServiceFolder

  init() throws { folder = try ServiceFolder() }

  @Test func `A request that is answered with an error counts as one`() async throws {
    let service = try await ServiceProcess(database: folder.database)
    #expect(try await service.get("/orders/none").status == 404)
    let lines = try await service.get("/metrics").text.split(separator: "\n")
    #expect(lines.contains { $0.hasPrefix("hb_request_errors_total{") && $0.hasSuffix("} 1") })
    // Requests that are over aren't active, those for heads included.
    for path in ["/orders/none", "/health", "/"] {
      _ = try await service.head(path)
    }
    let active = try await service.get("/metrics").text.split(separator: "\n")
      .filter { $0.hasPrefix("http_server_active_requests{") }
    #expect(active == [#"http_server_active_requests{http_request_method="GET"} 1"#])
    service.program.signal(SIGTERM)
    #expect(await service.program.status() == 0)
  }
}
