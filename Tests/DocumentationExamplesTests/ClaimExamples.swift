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
  migrate.addClaim(MutuallyExclusive<Database>())
  upload.addClaim(MutuallyExclusive("uplink", limit: 3))

  let others = (1...4).map { work("upload \($0)", in: simulation) }
  for other in others { other.addClaim(MutuallyExclusive("uplink", limit: 3)) }
  let cleaning = work("clean", in: simulation)
  cleaning.addClaim(MutuallyExclusive<Database>())
  queue.addOperations([migrate, upload, cleaning] + others)
  simulation.run()
  // Five uploads, three at a time; two that need the database, one at a time.
  #expect(simulation.now == .seconds(2))
}

@Test func `MutuallyExclusive: a lock for readers and writers`() {
  let simulation = SimulatedEnvironment(seed: 1)
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  let read = work("read", in: simulation)
  let write = work("write", in: simulation)

  read.addClaim(MutuallyExclusive("catalogue", limit: 8))
  write.addClaim(MutuallyExclusive("catalogue"))

  let others = (1...3).map { work("read \($0)", in: simulation) }
  for other in others { other.addClaim(MutuallyExclusive("catalogue", limit: 8)) }
  for operation in [read, others[0], write, others[1], others[2]] {
    queue.addOperation(operation)
    simulation.advance(by: .zero)
  }
  simulation.run()
  // Two readers, then the writer alone, then two readers.
  #expect(simulation.now == .seconds(3))
}

private typealias Account = String

private func transfer(from a: Account, to b: Account) async throws {}

@Test func `OperationClaim: all are taken in one step`() async throws {
  let queue = AdvancedOperationQueue()
  let a: Account = "a"
  let b: Account = "b"

  let payment = ResultOperation { try await transfer(from: a, to: b) }
  payment.addClaim(MutuallyExclusive("account \(a)"))
  payment.addClaim(MutuallyExclusive("account \(b)"))

  let refund = ResultOperation { try await transfer(from: b, to: a) }
  refund.addClaim(MutuallyExclusive("account \(b)"))
  refund.addClaim(MutuallyExclusive("account \(a)"))
  queue.addOperations([payment, refund])
  try await payment.value
  try await refund.value
}

@Test func `WhenBusy: what need not be done twice is skipped`() {
  let simulation = SimulatedEnvironment(seed: 1)
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  let first = work("first", in: simulation)
  first.addClaim(MutuallyExclusive("backup"))
  queue.addOperation(first)
  simulation.advance(by: .milliseconds(500))
  let backup = work("second", in: simulation)

  backup.addClaim(MutuallyExclusive("backup", whenBusy: .skip))

  queue.addOperation(backup)
  simulation.run()
  #expect(backup.ending == "skipped: “backup” is held by first")
}

@Test func `ClaimDomain: what is held in one is free in another`() async throws {
  let holder = ResultOperation {
    let tenant = OperationEnvironment(claimDomain: ClaimDomain())
    let queue = AdvancedOperationQueue(environment: tenant)

    let other = ResultOperation { "done" }
    other.addClaim(MutuallyExclusive("ledger", whenBusy: .fail))
    queue.addOperation(other)
    return try await other.value
  }
  holder.addClaim(MutuallyExclusive("ledger"))
  AdvancedOperationQueue().addOperation(holder)
  #expect(try await holder.value == "done")
}

@Test func `OperationClaim: a type of your own passes on the requests of several`() {
  struct Transfer: OperationClaim {
    let accounts: [String]
    var name: String { "transfer" }
    var requests: [ClaimRequest] {
      accounts.flatMap { MutuallyExclusive("account \($0)").requests }
    }
  }

  let simulation = SimulatedEnvironment(seed: 1)
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  let payment = work("payment", in: simulation)
  let refund = work("refund", in: simulation)
  payment.addClaim(Transfer(accounts: ["a", "b"]))
  refund.addClaim(Transfer(accounts: ["b", "c"]))
  queue.addOperations([payment, refund])
  simulation.run()
  #expect(simulation.now == .seconds(2))
}

@Test func `ClaimRequest: a claim of your own that is two`() {
  struct PrinterAccess: OperationClaim {
    let name = "printer"
    let requests =
      MutuallyExclusive("printer").requests
      + RateLimit("printer", 10, per: .seconds(60)).requests
  }

  let simulation = SimulatedEnvironment(seed: 1)
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  let pages = (1...12).map { work("page \($0)", in: simulation) }
  for page in pages { page.addClaim(PrinterAccess()) }
  queue.addOperations(pages)
  simulation.run()
  // One after the other; a token comes back every 6 s, so the eleventh need not wait for its own,
  // and the twelfth starts when two have come back.
  #expect(simulation.now == .seconds(13))
}

@Test func `OperationClaimError: the error names the holders of the claim`() {
  let simulation = SimulatedEnvironment(seed: 1)
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  let holder = work("backup", in: simulation)
  holder.addClaim(MutuallyExclusive("uplink"))
  let upload = work("upload", in: simulation)
  upload.addClaim(MutuallyExclusive("uplink", whenBusy: .fail))
  let print = Lines()

  upload.onFinish { _, outcome in
    if case .busy(let holders) = outcome.failure?.first(OperationClaimError.self) {
      print("held by", holders.map(\.name))
    }
  }

  queue.addOperation(holder)
  simulation.advance(by: .zero)
  queue.addOperation(upload)
  simulation.run()
  #expect(print.all == [#"held by ["backup"]"#])
}

@Test func `ResourcePool: units are shared by operations that need few and many`() {
  let simulation = SimulatedEnvironment(seed: 1)
  var environment = simulation.environment
  environment.claimDomain = .shared
  let queue = AdvancedOperationQueue(environment: environment)
  let render = work("render", in: simulation)
  let thumbnail = work("thumbnail", in: simulation)

  let memory = ResourcePool("memory in MB", capacity: 4_096)
  render.addClaim(ResourceUnits(1_024, of: memory))
  thumbnail.addClaim(ResourceUnits(64, of: memory))

  queue.addOperations([render, thumbnail])
  simulation.run()
  #expect(simulation.now == .seconds(1))
}

@Test func `ResourceUnits: as many at a time as there are units`() {
  let simulation = SimulatedEnvironment(seed: 1)
  var environment = simulation.environment
  environment.claimDomain = .shared
  let queue = AdvancedOperationQueue(environment: environment)
  let scans = (1...7).map { work("scan \($0)", in: simulation) }

  let licences = ResourcePool("licences", capacity: 3)
  for scan in scans { scan.addClaim(ResourceUnits(1, of: licences)) }

  queue.addOperations(scans)
  simulation.run()
  #expect(simulation.now == .seconds(3))
}

@Test func `RateLimit: so many within a time`() {
  let simulation = SimulatedEnvironment(seed: 1)
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  let requests = (1...160).map { _ in AdvancedOperation() }

  for request in requests {
    request.addClaim(RateLimit("feed", 100, per: .seconds(60)))
  }

  queue.addOperations(requests)
  simulation.run()
  // A hundred at once, and then one every 0.6 s.
  #expect(simulation.now == .seconds(36))
}

@Test func `RateLimit: two rates for one thing`() {
  let simulation = SimulatedEnvironment(seed: 1)
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  let calls = (1...30).map { _ in AdvancedOperation() }
  for call in calls {
    call.addClaim(RateLimit("api", 10, per: .seconds(1)))
    call.addClaim(RateLimit("api", 1_000, per: .seconds(3_600)))
  }
  queue.addOperations(calls)
  simulation.run()
  #expect(simulation.now == .seconds(2))
}
