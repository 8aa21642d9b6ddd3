import EarthquakeKit
import Foundation
import Testing

@Suite struct `A download` {
  /// Long enough never to be reached by a test that works.
  private let patience = Duration.seconds(50)

  private static func answer(_ status: String, _ body: String, fields: String = "") -> String {
    "HTTP/1.1 \(status)\r\nContent-Length: \(body.utf8.count)\r\n\(fields)"
      + "Connection: close\r\n\r\n\(body)"
  }

  @Test func `gives the bytes that the server sent`() async throws {
    let body = String(repeating: "Erdbeben über Erdbeben\n", count: 20_000)
    let server = try LoopbackServer { _ in .bytes(Self.answer("200 OK", body)) }
    let data = try await download(try server.url("/all_day.geojson"), timeout: patience)
    #expect(data == Data(body.utf8))
    var requests = server.requests.makeAsyncIterator()
    #expect(await requests.next() == "GET /all_day.geojson HTTP/1.1")
  }

  @Test func `follows a redirection`() async throws {
    let server = try LoopbackServer { request in
      request.contains("/old")
        ? .bytes(Self.answer("301 Moved Permanently", "", fields: "Location: /new\r\n"))
        : .bytes(Self.answer("200 OK", "here"))
    }
    let data = try await download(try server.url("/old"), timeout: patience)
    #expect(data == Data("here".utf8))
  }

  @Test(arguments: [
    (404, "404 Not Found", "it has no such file"), (403, "403 Forbidden", "it refuses access"),
    (503, "503 Service Unavailable", "Try again later"),
  ])
  func `fails with the status of another answer`(
    code: Int,
    status: String,
    part: String
  ) async throws {
    let server = try LoopbackServer { _ in .bytes(Self.answer(status, "<html></html>")) }
    let url = try server.url("/feed.geojson")
    let error = await #expect(throws: DownloadError.self) {
      try await download(url, timeout: patience)
    }
    #expect(error == .status(url: url, code: code))
    #expect(error?.description.contains(part) == true)
    #expect(error?.description.contains("HTTP status \(code)") == true)
  }

  @Test func `fails where nobody answers`() async throws {
    let server = try LoopbackServer(isListening: false) { _ in .silence }
    let url = try server.url("/")
    let error = await #expect(throws: DownloadError.self) {
      try await download(url, timeout: patience)
    }
    guard case .noConnection(url, _) = error else {
      Issue.record("\(error.debugDescription)")
      return
    }
    #expect(
      error?.description.hasPrefix("There is no connection to \(url.absoluteString): ") == true
    )
  }

  @Test func `fails when the connection breaks before the end`() async throws {
    let server = try LoopbackServer { _ in
      .bytes("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\nConnection: close\r\n\r\nonly this")
    }
    let url = try server.url("/")
    let error = await #expect(throws: DownloadError.self) {
      try await download(url, timeout: patience)
    }
    guard case .noConnection(url, _) = error else {
      Issue.record("\(error.debugDescription)")
      return
    }
  }

  @Test func `fails when it takes too long`() async throws {
    let server = try LoopbackServer { _ in .silence }
    let url = try server.url("/")
    await #expect(throws: DownloadError.timedOut(url: url, after: .milliseconds(20))) {
      try await download(url, timeout: .milliseconds(20))
    }
  }

  @Test func `ends when its task is cancelled`() async throws {
    let server = try LoopbackServer { _ in .silence }
    let url = try server.url("/")
    let patience = patience
    let task = Task { try await download(url, timeout: patience) }
    var requests = server.requests.makeAsyncIterator()
    #expect(await requests.next() != nil)
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  @Test(arguments: ["ftp://example.org/feed", "file:///feed.geojson", "feed.geojson", "http:///x"])
  func `refuses what it cannot download from`(address: String) async throws {
    let url = try #require(URL(string: address))
    await #expect(throws: DownloadError.unsupported(url: url)) {
      try await download(url, timeout: patience)
    }
  }

  @Test func `describes its errors in whole sentences`() throws {
    let url = try #require(URL(string: "https://example.org/feed"))
    let errors: [DownloadError] = [
      .unsupported(url: url), .noConnection(url: url, reason: "Out of luck."),
      .timedOut(url: url, after: .milliseconds(1_500)), .status(url: url, code: 302),
    ]
    for error in errors {
      #expect(error.description.contains("https://example.org/feed"))
      #expect(error.description.hasSuffix("."))
      #expect(!error.description.contains(".."))
      #expect(error.localizedDescription == error.description)
    }
    #expect(errors[2].description.contains("within 1.5 seconds"))
  }
}
