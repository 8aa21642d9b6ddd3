import AdvancedOperations
import AdvancedOperationsTesting
import EarthquakeKit
import Foundation
import SampleTestSupport
import Testing

@testable import EarthquakeWorkflow

@Suite struct `Two imports into one database` {
  /// Something else that has the database to itself for a while.
  private func holder(
    of database: DatabaseFile,
    until end: Duration,
    in world: ImportWorld,
    finally: @escaping @Sendable () throws -> Void = {}
  ) -> AdvancedOperation {
    let clock = world.simulation.environment.clock
    let holder = ResultOperation(name: "holder") {
      try await clock.sleep(until: end)
      try finally()
    }
    holder.addClaim(ImportWorkflow.exclusiveUse(of: database))
    return holder
  }

  /// Which of these states operations of these names entered, in order.
  private func states(_ states: Set<String>, of names: Set<String>, in log: String) -> [String] {
    // The second of a name has its number behind it.
    log.matches(of: /\] (\w+)(?: #\d+)?: (\w+)/).compactMap { match in
      let state = String(match.2)
      return names.contains(String(match.1)) && states.contains(state) ? state : nil
    }
  }

  @Test(arguments: Effort.seeds(50))
  func `never use it at the same time`(seed: UInt64) throws {
    let world = try ImportWorld(seed: seed)
    var one = try world.request(TinyFeed.data)
    // Another spelling of the same path.
    var other = one
    other.database = DatabaseFile(world.path("./x/../quakes.sqlite"))
    (one.storesAgain, other.storesAgain) = (true, true)
    let workflows = [one, other].map { ImportWorkflow($0, download: ImportWorld.noDownload) }
    let queue = AdvancedOperationQueue(environment: world.simulation.environment)
    queue.addOperations(workflows.map(\.operation))
    world.simulation.run()
    for workflow in workflows { #expect(workflow.succeeded.count == 6) }
    let states = states(
      ["executing", "finished"],
      of: ["store", "report"],
      in: world.simulation.log
    )
    // Two stores and two reports, each over before the next begins.
    #expect(states == (0..<4).flatMap { _ in ["executing", "finished"] }, "seed \(seed)")
  }

  @Test(arguments: Effort.seeds(50))
  func `store each event once, whoever comes first`(seed: UInt64) throws {
    let world = try ImportWorld(seed: seed)
    let request = try world.request(TinyFeed.data)
    let workflows = [request, request].map { ImportWorkflow($0, download: ImportWorld.noDownload) }
    let queue = AdvancedOperationQueue(environment: world.simulation.environment)
    queue.addOperations(workflows.map(\.operation))
    world.simulation.run()
    // The one that comes second is skipped, or stores what is there already, which changes nothing.
    let stored = workflows.map { workflow in
      (try? workflow.store.result?.get()) ?? StoreSummary(unchanged: 8)
    }
    #expect(Set(stored) == [StoreSummary(inserted: 8), StoreSummary(unchanged: 8)], "seed \(seed)")
    for workflow in workflows { #expect(workflow.operation.outcome?.isSuccess == true) }
    for workflow in workflows { #expect(try workflow.report.result?.get().count == 8) }
  }

  @Test(arguments: Effort.seeds(20))
  func `look for what is new when they no longer wait`(seed: UInt64) throws {
    let world = try ImportWorld(seed: seed)
    let request = try world.request(TinyFeed.data)
    let workflows = [request, request].map { ImportWorkflow($0, download: ImportWorld.noDownload) }
    let path = world.database.path
    let holder = holder(of: world.database, until: .seconds(100), in: world) {
      try EarthquakeDatabase(path: path).store(try Feed.parse(TinyFeed.data))
    }
    let queue = AdvancedOperationQueue(environment: world.simulation.environment)
    queue.addOperation(holder)
    world.simulation.advance(by: .seconds(1))
    queue.addOperations(workflows.map(\.operation))
    world.simulation.advance(by: .seconds(1))
    // Until now there is something new.
    for workflow in workflows { #expect(workflow.store.state == .ready) }
    world.simulation.run()
    for workflow in workflows { #expect(workflow.skipReason != nil, "seed \(seed)") }
  }

  @Test func `wait for whoever else claims it`() throws {
    let world = try ImportWorld()
    let holder = holder(of: world.database, until: .seconds(100), in: world)
    let workflow = ImportWorkflow(
      try world.request(TinyFeed.data),
      download: ImportWorld.noDownload
    )
    let queue = AdvancedOperationQueue(environment: world.simulation.environment)
    queue.addOperation(holder)
    world.simulation.advance(by: .seconds(1))
    queue.addOperation(workflow.operation)
    world.simulation.advance(by: .seconds(98))
    #expect(workflow.store.state == .ready)
    world.simulation.run()
    #expect(world.simulation.now == .seconds(100))
    #expect(workflow.succeeded.count == 6)
  }

  @Test func `don't wait for another database`() throws {
    let world = try ImportWorld()
    let other = DatabaseFile(world.path("other"))
    let holder = holder(of: other, until: .seconds(100), in: world)
    AdvancedOperationQueue(environment: world.simulation.environment).addOperation(holder)
    let workflow = ImportWorkflow(
      try world.request(TinyFeed.data),
      download: ImportWorld.noDownload
    )
    AdvancedOperationQueue(environment: world.simulation.environment)
      .addOperation(workflow.operation)
    world.simulation.advance(by: .zero)
    #expect(workflow.succeeded.count == 6)
    world.simulation.run()
  }
}
