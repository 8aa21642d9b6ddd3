import AdvancedOperations
import AdvancedOperationsTesting
import Testing

/// An operation that takes a second of a simulation's time.
private func work(
  _ name: String,
  in simulation: SimulatedEnvironment,
  log: Lines = Lines()
) -> AdvancedOperation {
  let clock = simulation.environment.clock
  return ResultOperation(name: name) {
    log("\(name) begins")
    try await clock.sleep(until: clock.now + .seconds(1))
    log("\(name) ends")
  }
}

@Test func `MutuallyExclusive: a category is a type or a name`() {
  let simulation = SimulatedEnvironment(seed: 1)
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  let migrate = work("migrate", in: simulation)
  let upload = work("upload", in: simulation)

  enum Database {}
  migrate.addCondition(MutuallyExclusive<Database>())
  upload.addCondition(MutuallyExclusive("uplink", limit: 3))

  let others = (1...4).map { work("upload \($0)", in: simulation) }
  for other in others { other.addCondition(MutuallyExclusive("uplink", limit: 3)) }
  let cleaning = work("clean", in: simulation)
  cleaning.addCondition(MutuallyExclusive<Database>())
  queue.addOperations([migrate, upload, cleaning] + others)
  simulation.run()
  // Five uploads, three at a time; two that need the database, one at a time.
  #expect(simulation.now == .seconds(2))
}

private typealias Account = String

private func transfer(from a: Account, to b: Account) async throws {}

@Test func `OperationClaim: all are taken in one step`() async throws {
  let queue = AdvancedOperationQueue()
  let a: Account = "a"
  let b: Account = "b"

  let payment = ResultOperation { try await transfer(from: a, to: b) }
  payment.addCondition(MutuallyExclusive("account \(a)"))
  payment.addCondition(MutuallyExclusive("account \(b)"))

  let refund = ResultOperation { try await transfer(from: b, to: a) }
  refund.addCondition(MutuallyExclusive("account \(b)"))
  refund.addCondition(MutuallyExclusive("account \(a)"))
  queue.addOperations([payment, refund])
  try await payment.value
  try await refund.value
}

@Test func `WhenBusy: what need not be done twice is skipped`() {
  let simulation = SimulatedEnvironment(seed: 1)
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  let first = work("first", in: simulation)
  first.addCondition(MutuallyExclusive("backup"))
  queue.addOperation(first)
  simulation.advance(by: .milliseconds(500))
  let backup = work("second", in: simulation)

  backup.addCondition(MutuallyExclusive("backup", whenBusy: .skip))

  queue.addOperation(backup)
  simulation.run()
  #expect(backup.ending == "skipped: “backup” is held by first")
}

@Test func `ExclusivityDomain: what is held in one is free in another`() async throws {
  let holder = ResultOperation {
    let tenant = OperationEnvironment(exclusivity: ExclusivityDomain())
    let queue = AdvancedOperationQueue(environment: tenant)

    let other = ResultOperation { "done" }
    other.addCondition(MutuallyExclusive("ledger", whenBusy: .fail))
    queue.addOperation(other)
    return try await other.value
  }
  holder.addCondition(MutuallyExclusive("ledger"))
  AdvancedOperationQueue().addOperation(holder)
  #expect(try await holder.value == "done")
}
