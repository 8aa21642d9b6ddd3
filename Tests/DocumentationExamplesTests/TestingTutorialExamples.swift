import AdvancedOperations
import AdvancedOperationsTesting
import CoreOperations
import Synchronization
import Testing

func addGuards(
  to upload: AdvancedOperation,
  network: any OperationCondition,
  changes: any OperationCondition
) {
  upload.addCondition(network)
  upload.addCondition(changes)
  upload.addClaim(MutuallyExclusive("uplink"))
  upload.addObserver(TimeoutObserver(.seconds(30)))
}

@Test(arguments: SimulatedEnvironment.seeds)
func `an upload without network fails`(seed: UInt64) throws {
  let simulation = SimulatedEnvironment(seed: seed)
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  let network = ConditionProbe(name: "network")
  let changes = ConditionProbe(name: "changes")
  let upload = HeldOperation(name: "upload")
  addGuards(to: upload, network: network, changes: changes)

  queue.addOperation(upload)
  network.answer(.failed(Offline()))
  changes.answer(.satisfied)
  simulation.run()
  try expectConditionFailure(of: upload, as: Offline.self, condition: "network")
}

private actor Session {
  private(set) var isValid = false
  func signIn() { isValid = true }
}

private struct NotSignedIn: Error {}

private struct SignedIn: OperationCondition {
  let session: Session

  func dependency(for operation: AdvancedOperation) -> AdvancedOperation? {
    ResultOperation(name: "sign in") { await session.signIn() }
  }

  func evaluate(for operation: AdvancedOperation) async -> OperationConditionResult {
    await session.isValid ? .satisfied : .failed(NotSignedIn())
  }
}

/// The programs of the article “Testing a guarded workflow”, and of articles to which it leads.
@Suite struct `Testing a guarded workflow` {
  let simulation: SimulatedEnvironment
  let queue: AdvancedOperationQueue
  let network = ConditionProbe(name: "network")
  let changes = ConditionProbe(name: "changes")
  let upload = HeldOperation(name: "upload")

  init(seed: UInt64 = 1) {
    simulation = SimulatedEnvironment(seed: seed)
    queue = AdvancedOperationQueue(environment: simulation.environment)
    addGuards(to: upload, network: network, changes: changes)
  }

  @Test func `a dependent doesn't run`() throws {
    let notify = HeldOperation(name: "notify")
    notify.addDependency(upload)
    notify.addCondition(.allSucceeded)
    queue.addOperations([upload, notify])
    network.answer(.failed(Offline()))
    changes.answer(.satisfied)
    simulation.run()
    try expectOutcome(of: notify, is: .failed)
    #expect(notify.outcome?.failure?.first(Offline.self) != nil)

    try expectConditionFailure(of: notify, as: DependencyRule.Broken.self)
  }

  @Test func `a prerequisite fails`() throws {
    let session = Session()

    upload.addCondition(SignedIn(session: session))
    try simulation.inject(.error(Offline()), into: "sign in", at: .executing)
    queue.addOperation(upload)
    network.answer(.satisfied)
    changes.answer(.satisfied)
    simulation.run()
    try expectFaultsHappened(in: simulation)
    try expectConditionFailure(of: upload, as: NotSignedIn.self, condition: "SignedIn")
  }

  @Test func `a condition is evaluated without its prerequisite`() throws {
    let result = try simulation.evaluate(SignedIn(session: Session()))
    #expect(!result.isSatisfied)
  }

  @Test func `the evaluation takes too long`() throws {
    upload.addObserver(TimeoutObserver(.seconds(5), of: .evaluating))
    queue.addOperation(upload)
    network.answer(.satisfied)
    simulation.run()
    try expectOutcome(of: upload, is: .cancelled)
    #expect(simulation.now == .seconds(5))
  }

  @Test func `there is nothing to do`() throws {
    queue.addOperation(upload)
    network.answer(.satisfied)
    changes.answer(.skipped(reason: "no changes"))
    simulation.run()
    try expectOutcome(of: upload, is: .skipped)
  }

  @Test func `a condition never answers`() throws {
    queue.addOperation(upload)
    network.answer(.satisfied)
    simulation.run()
    #expect(upload.state == .evaluatingConditions)

    upload.cancel()
    simulation.run()
    changes.answer(.satisfied)
    simulation.run()
    try expectOutcome(of: upload, is: .cancelled)
  }

  @Test func `it succeeds at last`() throws {
    let download = ResultOperation(
      name: "download",
      retry: .exponential(.seconds(120)).attempts(4)
    ) {
      let attempt = AdvancedOperation.current?.attempt ?? 0
      if attempt < 4 { throw Offline() }
      return "feed"
    }
    queue.addOperation(download)
    simulation.run()
    #expect(try expectValue(of: download) == "feed")
    #expect(simulation.now == .seconds(120 + 240 + 480))
  }

  @Test func `it fails at each attempt`() throws {
    let download = ResultOperation(
      name: "download",
      retry: .exponential(.seconds(120)).attempts(4)
    ) {
      throw Offline()
    }
    queue.addOperation(download)
    simulation.run()
    let failure = try #require(download.outcome?.failure)
    #expect(failure.elements.map(\.origin) == (1...4).map { .attempt($0, .body) })
  }

  @Test func `another operation is uploading`() throws {
    network.answer(.satisfied)
    changes.answer(.satisfied)
    let other = HeldOperation(name: "other")
    other.addClaim(MutuallyExclusive("uplink"))
    queue.addOperation(other)
    try simulation.run(until: { other.isHeld })

    queue.addOperation(upload)
    simulation.run()
    #expect(upload.state == .ready)

    other.release()
    try simulation.run(until: { upload.isHeld })
    #expect(upload.state == .executing)
  }

  @Test func `it takes too long`() throws {
    network.answer(.satisfied)
    changes.answer(.satisfied)
    queue.addOperation(upload)
    simulation.run()
    try expectOutcome(of: upload, is: .cancelled)
    #expect(upload.cancellationReason is OperationTimeout)
    #expect(simulation.now == .seconds(30))
  }

  @Test func `it has no end`() throws {
    let poll = RepeatOperation(name: "poll", every: .seconds(60)) { round in
      ResultOperation(name: "round \(round)") { round }
    }
    queue.addOperation(poll)
    simulation.run(until: .seconds(3600))
    #expect(poll.isExecuting)

    poll.cancel()
    simulation.run()
    try expectOutcome(of: poll, is: .cancelled)
    #expect(simulation.now == .seconds(3600))
  }

  @Test func `something goes wrong in the middle`() throws {
    let download = ResultOperation(name: "download") { 1 }
    let parse = download.then(name: "parse") { $0 }

    try simulation.inject(.error(Offline()), into: "download", at: .executing)
    queue.addOperations([download, parse])
    simulation.run()
    try expectFaultsHappened(in: simulation)
  }

  @Test(arguments: SimulatedEnvironment.seeds)
  func `each with ten seeds`(seed: UInt64) throws {
    try Self(seed: seed).`a dependent doesn't run`()
    try Self(seed: seed).`a prerequisite fails`()
    try Self(seed: seed).`there is nothing to do`()
    try Self(seed: seed).`a condition never answers`()
    try Self(seed: seed).`another operation is uploading`()
    try Self(seed: seed).`it takes too long`()
    try Self(seed: seed).`it succeeds at last`()
    try Self(seed: seed).`it fails at each attempt`()
    try Self(seed: seed).`it has no end`()
    try Self(seed: seed).`something goes wrong in the middle`()
  }

  @Test func `an upload with a claim is explored in every order`() throws {
    struct Stuck: Error {}

    let report = try exploreSchedules { simulation in
      let queue = AdvancedOperationQueue(environment: simulation.environment)
      let upload = AdvancedOperation()
      upload.addClaim(MutuallyExclusive("uplink"))
      queue.addOperation(upload)
      simulation.addStep("cancel") { upload.cancel() }
      simulation.run()
      if !upload.isFinished || queue.operationCount > 0 { throw Stuck() }
    }
    #expect(report.isComplete)
  }

  @Test func `an exploration cancels operations while they sleep`() throws {
    struct Stuck: Error {}

    let print = Lines()

    var moments: Set<String> = []
    let report = try exploreSchedules { simulation in
      let queue = AdvancedOperationQueue(environment: simulation.environment)
      let clock = simulation.environment.clock
      let pack = ResultOperation(name: "pack") { try await clock.sleep(for: .seconds(1)) }
      let send = pack.then(name: "send") { try await clock.sleep(for: .seconds(1)) }
      queue.addOperations([pack, send])
      let moment = Mutex("")
      simulation.addStep("cancel", atAnyTime: true) {
        let text = "at \(clock.now) it is \(send.state)"
        moment.withLock { $0 = text }
        send.cancel()
      }
      simulation.run()
      if !send.isFinished { throw Stuck() }
      moments.insert(moment.withLock { $0 })
    }
    for moment in moments.sorted() { print(moment) }
    print(report.isComplete ? "all of" : "some of more than", report.scheduleCount, "schedules")

    try expectShown(print, in: "ExploringSchedules", of: "AdvancedOperationsTesting")
  }

  private func print(_ text: String) {}
}
