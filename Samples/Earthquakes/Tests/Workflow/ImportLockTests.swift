import AdvancedOperations
import EarthquakeKit
import EarthquakeWorkflow
import Foundation
import Testing

@Suite struct `An import into a database that another process uses` {
  private struct Enough: Error, CustomStringConvertible {
    var description: String { "That will do." }
  }

  private let world: ImportWorld
  private let pauses = Pauses()

  init() throws {
    world = try ImportWorld()
    try world.store(TinyFeed.data)
  }

  @Test(arguments: DatabaseLock.Kind.allCases)
  func `waits five seconds in all its steps together`(kind: DatabaseLock.Kind) throws {
    let lock = try DatabaseLock(kind, world.database.path)
    defer { try? lock.release() }
    var request = try world.request(TinyFeed.data)
    request.storesAgain = true
    request.mapPath = world.path("map.svg")
    let patience = Patience(isExhaustible: true, pause: pauses.add)
    let workflow = world.run(request, patience: patience)
    #expect(workflow.tree.contains("has been in use by another process for too long."))
    #expect(pauses.total == .seconds(5))
    #expect(workflow.stored == nil)
  }

  @Test func `reports if that is possible, and doesn't say that there is nothing`() throws {
    let request = try world.request(TinyFeed.data)
    let lock = try DatabaseLock(.exclusive, world.database.path)
    let patience = Patience(isExhaustible: true, pause: pauses.add)
    guard case .skipped(let reason) = world.run(request, patience: patience).report.outcome else {
      Issue.record("The report was not skipped.")
      return
    }
    #expect(reason == "the database can't be read")
    try lock.release()
    #expect(try world.run(request).report.result?.get().count == 8)
  }

  @Test(arguments: DatabaseLock.Kind.allCases)
  func `an import that waits ends immediately at a cancel`(kind: DatabaseLock.Kind) throws {
    var request = try world.request(TinyFeed.data)
    request.storesAgain = true
    let lock = try DatabaseLock(kind, world.database.path)
    defer { try? lock.release() }
    let group = Locked<AdvancedOperation?>(nil)
    let patience = Patience(isExhaustible: true) { [pauses] pause in
      pauses.add(pause)
      group.value?.cancel(withError: Enough())
    }
    let workflow = world.run(request, patience: patience, prepare: { group.value = $0.operation })
    #expect(pauses.count == 1)
    #expect(workflow.tree == "cancelled: That will do.")
  }
}
