import Foundation
import OrderStorage
import OrderWorkflow
import Testing

/// Signals, with a real process.
@Suite(.serialized) struct ShutdownTests {
  private let folder: ServiceFolder

  init() throws { folder = try ServiceFolder() }

  private var database: String { folder.database }

  private func states() async throws -> [Order.State] {
    try await SQLiteOrderStore(path: database).orders(limit: 10).map(\.state)
  }

  @Test func `SIGTERM lets open orders finish, and ends the service`() async throws {
    let service = try await ServiceProcess(database: database, "--drain", "600s")
    try await service.mood(#"{"slow":"1s"}"#)
    #expect(try await service.place("a").status == 202)
    service.program.signal(SIGTERM)
    #expect(await service.program.status() == 0)
    #expect(try await states() == [.confirmed])
  }

  @Test func `What the drain doesn't finish is interrupted, and the next start takes it up`()
    async throws
  {
    var service = try await ServiceProcess(database: database, "--drain", "0s")
    try await service.mood(#"{"down":true}"#)
    for key in ["a", "b"] { #expect(try await service.place(key).status == 202) }
    service.program.signal(SIGTERM)
    #expect(await service.program.status() == 0)
    #expect(try await states() == [.open, .open])
    let closed = try await service.program.line(with: "closed")
    #expect(closed.contains("interrupted=2") && closed.contains("finished=0"), "\(closed)")

    service = try await ServiceProcess(database: database, "--drain", "600s")
    #expect(service.program.output.contains { $0.contains("took up orders") })
    service.program.signal(SIGTERM)
    #expect(await service.program.status() == 0)
    #expect(try await states() == [.confirmed, .confirmed])
  }

  @Test func `A client that sends half of a request doesn't keep the service from ending`()
    async throws
  {
    let service = try await ServiceProcess(database: database, "--drain", "86400s")
    let port = try #require(URL(string: service.url)?.port)
    let client = Process()
    client.executableURL = URL(filePath: "/usr/bin/env")
    // The answer to the first request shows that the connection is the service's.
    let script = """
      exec 3<>/dev/tcp/127.0.0.1/\(port)
      printf 'GET /health HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n' >&3
      read -r line <&3
      printf 'POST /orders HTTP/1.1\\r\\nHost: localhost\\r\\nContent-Type: application/json\\r\\n' >&3
      printf 'Idempotency-Key: a\\r\\nContent-Length: 500\\r\\n\\r\\n{' >&3
      echo "$line"
      cat >&2
      """
    let (input, output) = (Pipe(), Pipe())
    client.arguments = ["bash", "-c", script]
    (client.standardInput, client.standardOutput) = (input, output)
    try client.run()
    let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
    #expect(line.hasPrefix("HTTP/1.1 200"))
    service.program.signal(SIGTERM)
    #expect(await service.program.status() == 0)
    try input.fileHandleForWriting.close()
    client.waitUntilExit()
  }

  @Test func `A service that drains answers 503, and a second signal ends it immediately`()
    async throws
  {
    let service = try await ServiceProcess(database: database, "--drain", "86400s")
    try await service.mood(#"{"down":true}"#)
    #expect(try await service.place("a").status == 202)
    async let waiting = service.place("a", query: "?wait=60s")
    service.program.signal(SIGTERM)
    while try await service.get("/ready").status != 503 {}
    let refused = try await service.place("b")
    #expect(refused.status == 503 && refused.text.contains("draining"))
    // A repetition isn't new, and all that looks goes on.
    #expect(try await service.place("a").status == 202)
    #expect(try await service.get("/health").status == 200)
    service.program.signal(SIGTERM)
    // Who waits for an outcome learns that there is none yet.
    #expect(try await waiting.status == 202)
    #expect(await service.program.status() == 0)
    #expect(try await states() == [.open])
  }
}
