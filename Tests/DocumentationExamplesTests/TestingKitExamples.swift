import AdvancedOperations
import AdvancedOperationsTesting
import CoreOperations
import Testing

/// A simulation, a queue in it, and operations that are in no queue yet.
private func scene() -> (SimulatedEnvironment, AdvancedOperationQueue) {
  let simulation = SimulatedEnvironment(seed: 1)
  return (simulation, AdvancedOperationQueue(environment: simulation.environment))
}

@Test func `run(until:): a test cancels an operation in the middle`() throws {
  let (simulation, queue) = scene()
  let upload = ResultOperation { await Task.yield() }
  queue.addOperation(upload)

  try simulation.run(until: { upload.isExecuting })
  upload.cancel()
  simulation.run()

  try expectOutcome(of: upload, is: .cancelled)
}

@Test func `addStep: a cancel at some moment`() {
  let (simulation, queue) = scene()
  let upload = AdvancedOperation()
  queue.addOperation(upload)

  simulation.addStep("cancel") { upload.cancel() }
  simulation.run()

  #expect(upload.isFinished)
}

@Test func `logLimit: a year of a poll`() {
  let (simulation, queue) = scene()
  queue.addOperation(
    RepeatOperation(name: "poll", every: .seconds(86_400)) { round in
      ResultOperation(name: "round") { round }
    }
  )

  simulation.logLimit = 1_000
  simulation.run(until: .seconds(86_400 * 365))

  queue.cancelAllOperations()
  simulation.run()
  #expect(simulation.log.split(separator: "\n").count == 1_001)
}

@Test func `StrayOperation: nothing has left the simulation`() throws {
  let (simulation, queue) = scene()
  queue.addOperation(AdvancedOperation())

  simulation.run()
  #expect(simulation.strays.isEmpty)

  simulation.run()
  try expectNoStrays(in: simulation)
}

@Test func `exploreSchedules: all orders of three operations`() throws {
  let report = try exploreSchedules { simulation in
    let queue = AdvancedOperationQueue(environment: simulation.environment)
    for _ in 0..<3 { queue.addOperation(AdvancedOperation()) }
    simulation.run()
  }
  #expect(report.isComplete)
  #expect(report.scheduleCount == 6)
}

@Test func `exploreSchedules: a cancel at every moment`() throws {
  struct Stuck: Error {}

  let report = try exploreSchedules { simulation in
    let queue = AdvancedOperationQueue(environment: simulation.environment)
    let upload = AdvancedOperation()
    queue.addOperation(upload)
    simulation.addStep("cancel") { upload.cancel() }
    simulation.run()
    if !upload.isFinished { throw Stuck() }
  }
  #expect(report.isComplete)
}

@Test func `exploreSchedules: a failure is replayed`() throws {
  func upload(_ simulation: SimulatedEnvironment) {
    for number in 1...9 { simulation.addStep("\(number)") {} }
    simulation.run()
  }
  let replayed = SimulatedEnvironment(replaying: "1;2=1")
  #expect(replayed?.seed == 1)

  try exploreSchedules(replaying: "1;2=1,5=3", of: upload)

  do {
    try exploreSchedules { _ in throw Offline() }
  } catch let failure as ScheduleFailure {
    let simulation = SimulatedEnvironment(replaying: failure.schedule)
    #expect(simulation?.seed == 1)
  }
}

@Test func `SimulatedEnvironment: a schedule is replayed`() {
  let simulation = SimulatedEnvironment(replaying: "1;2=1")
  #expect(simulation?.now == .zero)
}

@Test func `SimulatedEnvironment: a schedule that is replayed fits`() throws {
  func upload(in simulation: SimulatedEnvironment) throws {
    for number in 1...4 { simulation.addStep("\(number)") {} }
    simulation.run()
  }

  let simulation = try #require(SimulatedEnvironment(replaying: "1;2=1"))
  try upload(in: simulation)
  #expect(simulation.replayMismatch == nil)
}

@Test func `addStep: a cancel at any time`() throws {
  struct Stuck: Error {}

  let report = try exploreSchedules { simulation in
    let queue = AdvancedOperationQueue(environment: simulation.environment)
    let clock = simulation.environment.clock
    let pack = ResultOperation(name: "pack") { try await clock.sleep(for: .seconds(1)) }
    let send = pack.then(name: "send") { try await clock.sleep(for: .seconds(1)) }
    queue.addOperations([pack, send])
    simulation.addStep("cancel", atAnyTime: true) { send.cancel() }
    simulation.run()
    if !send.isFinished { throw Stuck() }
  }
  #expect(report.isComplete)
}

@Test func `random: a generator of a simulation`() {
  struct SimulatedRandom: RandomNumberGenerator {
    let environment: OperationEnvironment
    func next() -> UInt64 { environment.random() }
  }

  func draw(_ seed: UInt64) -> [Int] {
    var random = SimulatedRandom(environment: SimulatedEnvironment(seed: seed).environment)
    return (0..<4).map { _ in Int.random(in: 0..<1_000, using: &random) }
  }
  #expect(draw(1) == draw(1))
  #expect(draw(1) != draw(2))
}

@Test func `HeldOperation: the operation holds its claims until its release`() {
  let (simulation, queue) = scene()
  let migration = AdvancedOperation()
  migration.addClaim(MutuallyExclusive("database"))
  queue.maxConcurrentOperationCount = 1

  let holder = HeldOperation(name: "holder")
  holder.addClaim(MutuallyExclusive("database"))
  queue.addOperations([holder, migration])
  simulation.run()
  #expect(migration.state == .ready)

  holder.release()
  simulation.run()
  #expect(migration.isFinished)
}

@Test func `OperationFault: an operation fails at the chosen state`() throws {
  let (simulation, queue) = scene()
  let download = ResultOperation(name: "download") { 1 }
  let parse = download.then(name: "parse") { $0 }

  try simulation.inject(.error(Offline()), into: "download", at: .executing)
  queue.addOperations([download, parse])
  simulation.run()
  try expectOutcome(of: parse, is: .failed)
}

@Test func `OperationFault: errors, delays and cancels`() throws {
  let (simulation, queue) = scene()
  let store = AdvancedOperation()
  store.name = "store"

  try simulation.inject(.error(Offline()), into: "download", at: .executing)
  try simulation.inject(.delay(.seconds(90)), into: "parse", at: .evaluatingConditions)
  try simulation.inject(.cancel, into: "store", at: .executing)

  queue.addOperation(store)
  simulation.run()
  try expectOutcome(of: store, is: .cancelled)
}

@Test func `expectConditionFailure: by type and by value`() throws {
  let importing = AdvancedOperation()
  importing.addCondition(FileExists("/no/such/file"))
  simulate(importing)

  let missing = try expectConditionFailure(of: importing, as: FileExists.Problem.self)
  #expect(missing == .missing(path: "/no/such/file"))

  try expectConditionFailure(of: importing, is: FileExists.Problem.missing(path: "/no/such/file"))
}

@Test func `expectOutcome: the outcome is compared`() throws {
  let download = ResultOperation { throw Offline() }
  let parse = AdvancedOperation()
  parse.addDependency(download)
  let probe = ConditionProbe()
  probe.answer(.skipped(reason: "no need"))
  parse.addCondition(probe)
  let upload = AdvancedOperation()
  upload.cancel()
  simulate(download, parse, upload)

  try expectOutcome(of: download, is: .failed)
  try expectOutcome(of: parse, is: .skipped)

  try expectOutcome(of: upload, is: .cancelled)
}

@Test func `ExpectationFailure: the failure has the place of the call`() throws {
  let lines = Lines()
  func print(_ line: Int, _ message: String) { lines("\(line): \(message)") }
  let upload = ResultOperation(name: "upload") { throw Offline() }
  simulate(upload)

  do {
    try expectOutcome(of: upload, is: .succeeded)
  } catch let failure as ExpectationFailure {
    print(failure.line, failure.message)
  }

  #expect(lines.all.count == 1)
}

@Test func `expectEvents: the events of an observer are compared`() throws {
  let recorder = RecordingObserver()
  let operation = AdvancedOperation()
  operation.addObserver(recorder)
  simulate(operation)

  try expectEvents(of: recorder, are: [.enqueued, .started, .willFinish, .finished])
}

@Test func `operation(named:as:): a part and the attempts`() throws {
  let simulation = SimulatedEnvironment(seed: 1)
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  let clock = simulation.environment.clock
  let upload = GroupOperation(name: "upload") {
    for number in 1...2 {
      ResultOperation(name: "part \(number)") {
        try await clock.sleep(for: .seconds(1))
        return number
      }
    }
  }
  queue.addOperation(upload)

  try simulation.run(until: { upload.isExecuting })
  let part = try simulation.operation(named: "part 2", as: ResultOperation<Int>.self)
  part.cancel()

  simulation.run()
  let download = RetryOperation(name: "download", retry: .immediate.attempts(2)) { number in
    ResultOperation(name: "attempt") {
      if number == 1 { throw Offline() }
      return number
    }
  }

  simulation.keepsOperations = true
  queue.addOperation(download)
  simulation.run()
  let attempts = try simulation.operations(named: "attempt", as: ResultOperation<Int>.self)
  #expect(attempts.map { $0.outcome?.isSuccess } == [false, true])
}
