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

private struct TooManyRequests: Error, CustomStringConvertible {
  let retryAfter: Duration?
  let description = "The server asks to wait."
}

/// A server that refuses its first call.
private final class LimitedServer: Sendable {
  private let isFirst = Locked(true)

  func load() async throws {
    let isRefused = isFirst.withLock { isFirst in
      defer { isFirst = false }
      return isFirst
    }
    if isRefused { throw TooManyRequests(retryAfter: .seconds(60)) }
  }
}

@Test func `Claims: a hold of a rate after the status 429`() throws {
  let print = Lines()
  let simulation = SimulatedEnvironment(seed: 1)
  let clock = simulation.environment.clock
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  let server = LimitedServer()

  let patient = RetryPolicy.constant(.seconds(1)).attempts(3)
    .retryAfter(holding: "api") { error in (error as? TooManyRequests)?.retryAfter }

  let fetch = ResultOperation(name: "fetch", retry: patient) { try await server.load() }
  let list = ResultOperation(name: "list") { print("\(clock.now.components.seconds) s: list") }
  for operation in [fetch, list] {
    operation.addClaim(RateLimit("api", 1, per: .seconds(2)))
    queue.addOperation(operation)
    simulation.advance(by: .zero)
  }

  simulation.advance(by: .seconds(5))
  print(list.explain())
  simulation.run()

  try expectShown(print, in: "LimitingWithClaims")
  #expect(fetch.ending == "succeeded")
}

@Test func `RateLimit: a cost, a strict window and a hold`() {
  let simulation = SimulatedEnvironment(seed: 1)
  let environment = simulation.environment
  let (summary, call) = (AdvancedOperation(), AdvancedOperation())

  summary.addClaim(RateLimit("model", 90_000, per: .seconds(60), cost: 12_000))

  call.addClaim(RateLimit("api", 10, inAny: .seconds(60)))

  let hold = ResultOperation {
    let clock = OperationClock.current
    environment.claimDomain.hold(rate: "api", until: clock.now + .seconds(60), reason: "status 429")
  }
  call.addDependency(hold)

  let queue = AdvancedOperationQueue(environment: environment)
  queue.addOperations([summary, call, hold])
  simulation.run()
  #expect(summary.ending == "succeeded")
  #expect(call.ending == "succeeded")
  #expect(simulation.now == .seconds(60))
}

@Test func `RetryPolicy: the delay of a service`() {
  let policy = RetryPolicy.exponential(.seconds(1)).attempts(5)
    .retryAfter(holding: "api") { ($0 as? TooManyRequests)?.retryAfter }
  let server = LimitedServer()
  let simulation = simulate(ResultOperation(retry: policy) { try await server.load() })
  #expect(simulation.now == .seconds(60))
}
