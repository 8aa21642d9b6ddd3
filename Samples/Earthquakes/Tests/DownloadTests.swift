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

  #if os(Linux)
  /// The line of the mapping that an address is in: its first and last address, and its file.
  ///
  /// The list is read line by line: read at once, it may be cut where it is long.
  private static func mapping(at address: UInt) throws -> String? {
    let file = try #require(fopen("/proc/self/maps", "r"))
    defer { fclose(file) }
    var buffer = [CChar](repeating: 0, count: 8_192)
    while fgets(&buffer, Int32(buffer.count), file) != nil {
      let line = String(
        decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)),
        as: UTF8.self
      )
      let ends = line.prefix { $0 != " " }.split(separator: "-").compactMap { UInt($0, radix: 16) }
      if ends.count == 2, (ends[0]..<ends[1]).contains(address) {
        return line.trimmingCharacters(in: .newlines)
      }
    }
    return nil
  }

  @Test func `gives a view of a file that has no name any more`() async throws {
    let body = String(repeating: "x", count: 3_000_000)
    let server = try LoopbackServer { _ in .bytes(Self.answer("200 OK", body)) }
    let data = try await download(try server.url("/"), timeout: patience)
    let address = data.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) }
    var mapping: String?
    // Other threads may change the list while it is read, so that a line is missing.
    for _ in 1...100 where mapping == nil { mapping = try Self.mapping(at: address) }
    #expect(mapping?.contains(/\/earthquakes-\w{6} \(deleted\)$/) == true, "\(mapping ?? "none")")
    #expect(data == Data(body.utf8))
  }
  #endif

  @Test func `ends as soon as there are too many bytes`() async throws {
    let server = try LoopbackServer { _ in .endless("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
    }
    let url = try server.url("/")
    await #expect(throws: DownloadError.tooLarge(url: url, maximum: 1_000_000)) {
      try await download(url, timeout: patience, atMost: 1_000_000)
    }
  }

  @Test func `doesn't begin when there will be too many bytes`() async throws {
    let server = try LoopbackServer { _ in
      .endless("HTTP/1.1 200 OK\r\nContent-Length: 101\r\n\r\n")
    }
    let url = try server.url("/")
    await #expect(throws: DownloadError.tooLarge(url: url, maximum: 100)) {
      try await download(url, timeout: patience, atMost: 100)
    }
  }

  @Test func `may have exactly as many bytes as allowed`() async throws {
    let server = try LoopbackServer { _ in .bytes(Self.answer("200 OK", "here")) }
    let url = try server.url("/")
    #expect(try await download(url, timeout: patience, atMost: 4) == Data("here".utf8))
  }

  @Test func `of nothing is empty`() async throws {
    let server = try LoopbackServer { _ in .bytes(Self.answer("200 OK", "")) }
    #expect(try await download(try server.url("/"), timeout: patience) == Data())
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

  @Test func `a download fails if no server answers`() async throws {
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
      .tooLarge(url: url, maximum: 1), .cannotKeep(url: url, reason: "No space left on device"),
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
