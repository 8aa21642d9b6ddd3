import ArgumentParser
import Foundation
import ServiceSupport

/// `orders load`: places orders as fast as clients do, and counts what becomes of them.
struct LoadCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "load",
    abstract: "Places orders, counts what becomes of them, and measures how long that takes.",
    discussion: """
      A client as it should be: it gives each order a key, repeats a request that got no answer \
      with the same key, and comes back after the time that a 429 or 503 names. With --follow, the \
      status is 1 when an order that was acknowledged is lost or isn't final in time.
      """
  )

  @Option(help: "Where the service is.")
  var url = "http://127.0.0.1:8080"

  @Option(parsing: .unconditional, help: "How many orders are placed.")
  var orders = 1_000

  @Option(parsing: .unconditional, help: "How many requests are sent at the same time.")
  var concurrency = 64

  @Option(help: "How long requests wait for the outcome; they don't unless given.")
  var wait: String?

  @Flag(help: "Afterwards, ask until each order is final.")
  var follow = false

  @Option(
    parsing: .unconditional,
    help: "How long an order is tried to be placed, or followed.",
    transform: duration
  )
  var patience = Duration.seconds(600)

  @Option(parsing: .unconditional, help: "Which orders are placed.")
  var seed: UInt64 = 1

  @Option(help: "What the keys begin with: the same orders are placed for the same name.")
  var name = String(UInt64.random(in: 0...UInt64.max), radix: 36)

  func validate() throws {
    try ServiceAddress.check("--url", url)
    if orders < 1 || concurrency < 1 {
      throw ValidationError("--orders and --concurrency are at least 1.")
    }
    if let wait, DurationText.duration(of: wait) == nil {
      throw ValidationError("“\(wait)” isn't a duration; write 5s.")
    }
  }

  func run() async throws {
    let client = OrderClient(url: url, connections: concurrency, patience: patience)
    let isGood: Bool
    do {
      let report = try await place(with: client)
      print(report)
      isGood = report.losses.isEmpty
      try await client.close()
    } catch {
      try? await client.close()
      throw error
    }
    if !isGood { throw ExitCode.failure }
  }

  private func place(with client: OrderClient) async throws -> LoadReport {
    let items = try await client.items()
    var generator = SeededGenerator(seed: seed)
    let drafts = (0..<orders).map { _ in RandomDraft(items, &generator) }
    let begin = ContinuousClock.now
    var report = LoadReport()
    await withTaskGroup(of: OrderClient.Placed.self) { group in
      var next = drafts.enumerated().makeIterator()
      func add() -> Bool {
        guard let (index, draft) = next.next() else { return false }
        group.addTask { [name, wait] in
          await client.place(draft, key: "\(name)-\(index)", wait: wait)
        }
        return true
      }
      for _ in 0..<concurrency where !add() { break }
      for await placed in group {
        report.add(placed)
        _ = add()
      }
    }
    report.duration = .now - begin
    if follow {
      report.outcomes = [:]
      await withTaskGroup(of: String.self) { group in
        var next = report.ids.makeIterator()
        for _ in 0..<concurrency {
          guard let id = next.next() else { break }
          group.addTask { await client.outcome(of: id) }
        }
        for await outcome in group {
          report.outcomes[outcome, default: 0] += 1
          if let id = next.next() { group.addTask { await client.outcome(of: id) } }
        }
      }
      report.totalDuration = .now - begin
    }
    return report
  }
}
