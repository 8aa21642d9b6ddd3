import AdvancedOperations
import AdvancedOperationsTesting
import Testing

@Test func `Claims: exclusivity, units and a rate`() throws {
  let print = Lines()

  let simulation = SimulatedEnvironment(seed: 1)
  let clock = simulation.environment.clock
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  let memory = ResourcePool("memory in GB", capacity: 8, domain: simulation.environment.claimDomain)

  func work(_ name: String, seconds: Int, _ claims: any OperationClaim...) -> AdvancedOperation {
    let work = ResultOperation(name: name) {
      print("\(clock.now.components.seconds) s: \(name)")
      try await clock.sleep(for: .seconds(seconds))
    }
    for claim in claims { work.addClaim(claim) }
    return work
  }

  for operation in [
    work("import", seconds: 3, MutuallyExclusive("database"), ResourceUnits(5, of: memory)),
    work("migrate", seconds: 2, MutuallyExclusive("database")),
    work("render", seconds: 2, ResourceUnits(4, of: memory)),
    work("thumbnail", seconds: 1, ResourceUnits(1, of: memory)),
    work("request 1", seconds: 0, RateLimit("api", 1, per: .seconds(2))),
    work("request 2", seconds: 0, RateLimit("api", 1, per: .seconds(2))),
  ] {
    queue.addOperation(operation)
    simulation.advance(by: .zero)
  }
  simulation.run()

  try expectShown(print, in: "LimitingWithClaims")
}

@Test func `Claims: children enter what their group holds`() throws {
  let print = Lines()
  let simulation = SimulatedEnvironment(seed: 1)
  let clock = simulation.environment.clock
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  func insert(_ name: String) -> ResultOperation<Void> {
    let insert = ResultOperation(name: name) {
      print("\(clock.now.components.seconds) s: \(name)")
      try await clock.sleep(for: .seconds(1))
    }
    insert.addClaim(MutuallyExclusive("database"))
    return insert
  }

  let restore = GroupOperation(name: "restore") {
    insert("users")
    insert("orders")
  }
  restore.addClaim(MutuallyExclusive("database"))
  queue.addOperation(restore)
  simulation.advance(by: .zero)
  queue.addOperation(insert("other"))
  simulation.run()
  try expectShown(print, in: "LimitingWithClaims")
}

@Test func `Claims: what is busy is waited for, or not`() throws {
  func endings(_ whenBusy: WhenBusy) -> [String] {
    let simulation = SimulatedEnvironment(seed: 1)
    let clock = simulation.environment.clock
    let queue = AdvancedOperationQueue(environment: simulation.environment)
    let backup = ResultOperation(name: "backup") { try await clock.sleep(for: .seconds(60)) }
    backup.addClaim(MutuallyExclusive("disk"))
    let copy = ResultOperation(name: "copy") {}
    copy.addClaim(MutuallyExclusive("disk", whenBusy: whenBusy))
    queue.addOperation(backup)
    simulation.advance(by: .seconds(1))
    queue.addOperation(copy)
    simulation.run()
    return [backup.ending, copy.ending]
  }
  #expect(endings(.wait) == ["succeeded", "succeeded"])
  #expect(
    endings(.fail) == ["succeeded", "failed\n  condition “disk”: The claim is held by backup."]
  )
  #expect(endings(.skip) == ["succeeded", "skipped: “disk” is held by backup"])
  #expect(endings(.cancelHolder)[0].hasPrefix("cancelled"))
  #expect(endings(.cancelHolder)[1] == "succeeded")
}

@Test func `Claims: a cycle is refused`() throws {
  let print = Lines()
  let simulation = SimulatedEnvironment(seed: 1)
  let queue = AdvancedOperationQueue(environment: simulation.environment)

  let export = ResultOperation(name: "export") {}
  export.addClaim(MutuallyExclusive("catalogue"))
  let upload = ResultOperation(name: "upload") {}
  upload.addDependency(export)
  let publish = GroupOperation(name: "publish") { upload }
  publish.addClaim(MutuallyExclusive("catalogue"))

  queue.addOperation(publish)
  simulation.advance(by: .zero)
  queue.addOperation(export)
  simulation.run()
  print(export.explain())
  try expectShown(print, in: "LimitingWithClaims")
}
