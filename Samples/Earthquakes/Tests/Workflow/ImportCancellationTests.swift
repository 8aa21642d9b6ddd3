import AdvancedOperations
import AdvancedOperationsTesting
import EarthquakeKit
import Foundation
import Testing

@testable import EarthquakeWorkflow

@Suite struct `An import that is cancelled` {
  private struct Enough: Error, CustomStringConvertible {
    var description: String { "That will do." }
  }

  /// The feed that is stored, and a later one that would change each of its events.
  private func laterFeed() -> Data {
    let text = String(decoding: TinyFeed.data, as: UTF8.self)
    return Data(
      text.replacing("\"generated\":1600000000000", with: "\"generated\":1700000000000")
        .replacing("\"updated\":1577840400000", with: "\"updated\":1700000000000").utf8
    )
  }

  @Test(arguments: ["locate", "open", "validate", "parse", "store"])
  func `when a step begins leaves the database as it was`(name: String) throws {
    let world = try ImportWorld()
    try world.store(TinyFeed.data)
    let request = try world.request(laterFeed())
    let before = try world.files()
    let workflow = world.run(
      request,
      prepare: { workflow in
        let operation = workflow.operation
        let step = workflow.steps.first { $0.name == name }
        step?.onStart { _ in operation.cancel(withError: Enough()) }
      }
    )
    #expect(try workflow.step(name).isCancelled)
    #expect(workflow.tree == "cancelled: That will do.")
    #expect(try world.files() == before)
    #expect(workflow.report.isCancelled)
    guard case .cancelled = workflow.operation.outcome else {
      Issue.record("\(String(describing: workflow.operation.outcome))")
      return
    }
  }

  @Test(arguments: 0...7)
  func `while it stores rolls back`(event: Int64) throws {
    let world = try ImportWorld()
    try world.store(TinyFeed.data)
    let request = try world.request(laterFeed())
    let before = try world.files()
    let workflow = world.run(
      request,
      prepare: { workflow in
        let operation = workflow.operation
        workflow.store.addObserver(
          BlockObserver(didUpdateProgress: { _, progress in
            if progress.completedUnitCount == event { operation.cancel(withError: Enough()) }
          })
        )
      }
    )
    #expect(workflow.tree == "cancelled: That will do.")
    #expect(try world.files() == before)
    // And not because there was nothing to change.
    #expect(try world.run(request).store.result?.get().updated == 8)
  }

  @Test func `while SQLite commits is too late, and says so`() throws {
    let world = try ImportWorld()
    try world.store(TinyFeed.data)
    let workflow = world.run(
      try world.request(laterFeed()),
      prepare: { workflow in
        let operation = workflow.operation
        workflow.store.addObserver(
          BlockObserver(didUpdateProgress: { _, progress in
            // Told after it was asked for the last time whether the operation is cancelled.
            if progress.completedUnitCount == 8 { operation.cancel(withError: Enough()) }
          })
        )
      }
    )
    #expect(workflow.tree == "cancelled: That will do.")
    #expect(workflow.store.isCancelled)
    #expect(workflow.stored == StoreSummary(updated: 8))
    let stored = try EarthquakeDatabase(path: world.database.path).earthquakes()
    #expect(stored == (try Feed.parse(laterFeed()).earthquakes.sorted { $0.time < $1.time }))
  }

  @Test func `while it downloads stops waiting`() throws {
    let world = try ImportWorld()
    let clock = world.simulation.environment.clock
    let workflow = ImportWorkflow(world.request(feed: "all_day")) { _, _, _ in
      try await clock.sleep(until: .seconds(50))
      return TinyFeed.data
    }
    AdvancedOperationQueue(environment: world.simulation.environment)
      .addOperation(workflow.operation)
    world.simulation.advance(by: .seconds(10))
    workflow.operation.cancel(withError: Enough())
    world.simulation.run()
    #expect(world.simulation.now == .seconds(10))
    #expect(workflow.tree == "cancelled: That will do.")
    #expect(try world.files().isEmpty)
  }

  @Test func `between two attempts does not try again`() throws {
    let world = try ImportWorld()
    let workflow = ImportWorkflow(world.request(feed: "all_day")) { url, _, _ in
      throw DownloadError.status(url: url, code: 503)
    }
    AdvancedOperationQueue(environment: world.simulation.environment)
      .addOperation(workflow.operation)
    world.simulation.advance(by: .milliseconds(1_500))
    workflow.operation.cancel(withError: Enough())
    world.simulation.run()
    #expect(world.simulation.now == .milliseconds(1_500))
    let lines = workflow.tree.split(separator: "\n")
    #expect(lines.first == "cancelled: That will do.")
    #expect(lines.filter { $0.contains("attempt ") }.count == 2)
  }

  @Test func `while it waits for the database leaves the line`() throws {
    let world = try ImportWorld()
    let clock = world.simulation.environment.clock
    let queue = AdvancedOperationQueue(environment: world.simulation.environment)
    let holder = ResultOperation(name: "holder") { try await clock.sleep(until: .seconds(100)) }
    holder.addClaim(ImportWorkflow.exclusiveUse(of: world.database))
    let workflow = ImportWorkflow(
      try world.request(TinyFeed.data),
      download: ImportWorld.noDownload
    )
    queue.addOperation(holder)
    world.simulation.advance(by: .seconds(1))
    queue.addOperation(workflow.operation)
    world.simulation.advance(by: .seconds(1))
    #expect(workflow.store.state == .ready)
    workflow.operation.cancel(withError: Enough())
    world.simulation.advance(by: .seconds(1))
    #expect(workflow.operation.isFinished)
    #expect(!holder.isFinished)
    world.simulation.run()
    #expect(try world.files().keys.sorted() == ["feed.geojson"])
  }
}
