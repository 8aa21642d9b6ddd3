import Foundation
import OrderStorage
import Testing

@testable import orders

/// The payment provider as a child of the service, with real processes.
@Suite(.serialized) struct ProviderProgramTests {
  private let folder: ServiceFolder

  init() throws { folder = try ServiceFolder() }

  private var database: String { folder.database }

  @Test func `A service that is killed and restarted immediately has one provider on its ledger`()
    async throws
  {
    var old: ServiceProcess?
    for life in 1...4 {
      let service = try await ServiceProcess(database: database)
      // The provider before ends without a signal, although a slow request goes on.
      await old?.program.untilAllHaveEnded()
      #expect(try await service.place("\(life)", query: "?wait=60s").status == 200)
      // A slow request is what a provider goes on with after its parent's end.
      try await service.mood(#"{"slow":"60s"}"#)
      _ = try await service.place("slow \(life)")
      try await service.untilCharging()
      service.program.signal(SIGKILL)
      _ = await service.program.status()
      old = service
    }
    let lines = try ProviderLedger.read(file: "\(database).ledger.jsonl").charges
    #expect(Set(lines.map(\.key)).count == lines.count)
  }

  @Test func `A provider that has ended is started again, and the service says so`() async throws {
    let service = try await ServiceProcess(database: database)
    try await service.mood(#"{"slow":"60s"}"#)
    _ = try await service.place("slow")
    try await service.untilCharging()
    let kill = Process()
    kill.executableURL = URL(filePath: "/usr/bin/env")
    kill.arguments = ["pkill", "-9", "-P", "\(service.program.processIdentifier)"]
    try kill.run()
    kill.waitUntilExit()
    try #require(kill.terminationStatus == 0)
    _ = try await service.program.line(with: "The payment provider has ended")
    #expect(try await service.place("next", query: "?wait=60s").status == 200)
    #expect(try await service.place("slow", query: "?wait=60s").status == 200)
    service.program.signal(SIGTERM)
    #expect(await service.program.status() == 0)
  }

  @Test func `A provider whose port another program has says so, and what to do`() async throws {
    let input = Pipe()
    let first = try RunningProgram(
      "payment-provider",
      ["--port", "0", "--with-parent"],
      input: input
    )
    let address = try await first.address(after: "listens on")
    let port = try #require(URL(string: address)?.port)
    let second = try RunningProgram("payment-provider", ["--port", "\(port)"])
    let line = try await second.line(with: "Error: ")
    #expect(
      line == "Error: Port \(port) of 127.0.0.1 is in use: stop the program that has it, or give "
        + "another --port."
    )
    #expect(await second.status() == 1)
    try input.fileHandleForWriting.close()
    #expect(await first.status() == 0)
  }

  @Test func `A provider whose ledger another one has waits for it, and says so`() async throws {
    let ledger = folder.path("ledger.jsonl")
    func provider(_ patience: String, _ input: Pipe) throws -> RunningProgram {
      try RunningProgram(
        "payment-provider",
        ["--port", "0", "--ledger", ledger, "--patience", patience, "--with-parent"],
        input: input
      )
    }
    let (input, nextInput) = (Pipe(), Pipe())
    let first = try provider("0s", input)
    _ = try await first.address(after: "listens on")

    let impatient = try provider("0s", Pipe())
    #expect(await impatient.status() != 0)
    #expect(try await impatient.line(with: "Another program writes").contains(ledger))

    let next = try provider("600s", nextInput)
    _ = try await next.line(with: "payment-provider waits: Another program writes")
    // The parent of the first one has gone.
    try input.fileHandleForWriting.close()
    #expect(await first.status() == 0)
    _ = try await next.address(after: "listens on")
    try nextInput.fileHandleForWriting.close()
    #expect(await next.status() == 0)
  }

  @Test func `A service that doesn't get the database starts no provider`() async throws {
    let store = try SQLiteOrderStore(path: database)
    let service = try RunningProgram("orders", ServiceProcess.arguments(database))
    #expect(await service.status() != 0)
    #expect(try await service.line(with: "Another program works").contains(database))
    #expect(!service.output.contains { $0.contains("payment provider:") })
    #expect(try await store.items().isEmpty)
  }

  @Test func `A service starts its provider with the fewest files that it asks for`() async throws {
    let arguments = ServiceProcess.arguments(database)
    let fewest = OpenFiles.fewest
    let refused = try RunningProgram("orders", arguments, openFiles: fewest - 1)
    _ = try await refused.line(with: "it needs at least \(fewest): raise the limit")
    #expect(await refused.status() != 0)
    let service = try RunningProgram("orders", arguments, openFiles: fewest)
    _ = try await service.address(after: "open for orders:")
    service.signal(SIGTERM)
    #expect(await service.status() == 0)
  }
}
