import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport

private struct Flaw: Error {}

/// A workflow drawn from a seed, run for real, and told to the model.
struct RandomWorkflow {
  private typealias Model = ReferenceModel

  private let seed: UInt64
  private var random: SplitMix64
  private var plans: [ReferenceModel.Plan] = []
  private var queues: [ReferenceModel.Queue] = []
  private var shape = Shape.tangled

  /// How likely is what an operation may have, in percent.
  private struct Shape {
    var dependency: Int
    var verdict: Int
    var rule: Int
    var claim: Int
    /// The same for a second one.
    var other: Int

    /// Many dependencies and conditions.
    static let tangled = Shape(dependency: 45, verdict: 25, rule: 25, claim: 25, other: 25)
    /// Most want the same things.
    static let crowded = Shape(dependency: 10, verdict: 8, rule: 8, claim: 60, other: 60)
    /// Most want one thing, and nothing else.
    static let lined = Shape(dependency: 5, verdict: 4, rule: 4, claim: 80, other: 5)
    /// Nothing but slots and priorities.
    static let plain = Shape(dependency: 15, verdict: 4, rule: 4, claim: 8, other: 8)
    static let all = [tangled, crowded, lined, plain]
  }

  init(seed: UInt64) {
    self.seed = seed
    random = SplitMix64(seed: seed)
    shape = Shape.all.randomElement(using: &random) ?? .tangled
    queues = (0..<Int.random(in: 1...2, using: &random)).map { _ in
      ReferenceModel.Queue(limit: [-1, -1, 1, 1, 2, 3].randomElement(using: &random) ?? -1)
    }
    for number in 0..<Int.random(in: 2...10, using: &random) { plans.append(makePlan(number)) }
  }

  private mutating func chance(_ percent: Int) -> Bool {
    Int.random(in: 0..<100, using: &random) < percent
  }

  private mutating func makePlan(_ number: Int) -> ReferenceModel.Plan {
    var plan = ReferenceModel.Plan()
    plan.queue = Int.random(in: queues.indices, using: &random)
    plan.priority = [0, 0, 0, 4, -4].randomElement(using: &random) ?? 0
    plan.bodyFails = chance(25)
    if chance(25) { plan.attempts = Int.random(in: 2...4, using: &random) }
    while number > 0 && plan.dependencies.count < 3 && chance(shape.dependency) {
      let dependency = Int.random(in: 0..<number, using: &random)
      if !plan.dependencies.contains(dependency) { plan.dependencies.append(dependency) }
    }
    while chance(shape.verdict) {
      let verdicts: [ReferenceModel.Verdict] = [.satisfied, .satisfied, .failed, .skipped]
      plan.verdicts.append(verdicts.randomElement(using: &random) ?? .satisfied)
    }
    if chance(shape.rule) { plan.rules.append(.noFailedDependencies) }
    if chance(shape.rule) { plan.rules.append(.noCancelledDependencies) }
    for (name, percent) in [("a", shape.claim), ("b", shape.other)] where chance(percent) {
      let rules: [ReferenceModel.Busy] = [.wait, .wait, .wait, .fail, .skip, .cancelHolder]
      plan.claims.append(
        ReferenceModel.Claim(
          name: name,
          limit: Int.random(in: 1...2, using: &random),
          busy: rules.randomElement(using: &random) ?? .wait
        )
      )
    }
    return plan
  }

  /// What the model is told.
  struct Story {
    var plans: [ReferenceModel.Plan]
    var queues: [ReferenceModel.Queue]
    var events: [ReferenceModel.Event]

    /// What may not have happened.
    var problems: [String] {
      var model = ReferenceModel(plans: plans, queues: queues)
      for event in events { model.happened(event) }
      model.end()
      return model.problems
    }
  }

  // MARK: The real thing

  /// Tells the model what an operation tells its observers.
  private struct Reporter: OperationObserver {
    let number: Int
    let events: Events

    func operationDidStart(_ operation: AdvancedOperation) { events.add(.told(number, "started")) }
    func operationDidCancel(_ operation: AdvancedOperation, errors: [any Error]) {
      events.add(.told(number, "cancelled"))
    }
    func operationWillFinish(_ operation: AdvancedOperation, outcome: OperationOutcome) {
      events.add(.told(number, "willFinish"))
    }
    func operationDidFinish(_ operation: AdvancedOperation, outcome: OperationOutcome) {
      let ending: ReferenceModel.Ending
      switch outcome {
      case .succeeded: ending = .succeeded
      case .failed: ending = .failed
      case .cancelled: ending = .cancelled
      case .skipped: ending = .skipped
      }
      events.add(.finished(number, ending, errorCount: outcome.failure?.errors.count ?? 0))
    }
  }

  /// A condition that answers at once.
  private struct Immediate: ImmediateCondition {
    let result: OperationConditionResult
    func check(_ operation: AdvancedOperation) -> OperationConditionResult { result }
  }

  private struct Late: OperationCondition {
    let result: OperationConditionResult
    func evaluate(for operation: AdvancedOperation) async -> OperationConditionResult {
      await Task.yield()
      return result
    }
  }

  /// Runs it: what the model says may not have happened.
  ///
  /// - Parameter lie: Changes what the model is told, so that a library without mistakes seems to
  ///   make one.
  /// - Returns: The problems; behind them what was planned and what happened.
  mutating func problems(lie: (inout Story) -> Void = { _ in }) -> [String] {
    let simulation = SimulatedEnvironment(seed: seed)
    let real = queues.map { planned in
      let queue = AdvancedOperationQueue(environment: simulation.environment)
      queue.maxConcurrentOperationCount = planned.limit
      return queue
    }
    let events = Events()
    simulation.environment.claimDomain.trace { event, operation in
      if let number = operation.name.flatMap({ Int($0) }) { events.add(.claims(number, event)) }
    }
    var operations: [AdvancedOperation] = []
    for (number, plan) in plans.enumerated() {
      let operation = makeOperation(number, plan, events)
      for dependency in plan.dependencies { operation.addDependency(operations[dependency]) }
      operations.append(operation)
    }
    for number in operations.indices where chance(30) {
      let operation = operations[number]
      let call: @Sendable () -> Void = {
        events.add(.cancelCalled(number))
        operation.cancel()
      }
      if chance(50) {
        simulation.addStep("cancel \(number)", call)
      } else {
        let time = Duration.milliseconds(Int.random(in: 0...2_000, using: &random))
        _ = simulation.environment.clock.schedule(at: time, call)
      }
    }
    if chance(20), let queue = real.first {
      queues[0].mayBeSuspended = true
      simulation.addStep("suspend") { queue.isSuspended = true }
      _ = simulation.environment.clock.schedule(at: .seconds(1)) { queue.isSuspended = false }
    }
    for (number, plan) in plans.enumerated() { real[plan.queue].addOperation(operations[number]) }
    simulation.run()
    // Turned off by a step that came after the timer.
    for queue in real where queue.isSuspended { queue.isSuspended = false }
    simulation.run()
    var story = Story(plans: plans, queues: queues, events: events.all)
    lie(&story)
    var problems = story.problems
    for queue in real where queue.operationCount > 0 {
      problems.append("\(queue.operations) stay")
    }
    for stray in simulation.strays { problems.append("\(stray)") }
    if problems.isEmpty { return [] }
    let plan = story.plans.enumerated().map { "\($0.offset): \($0.element)" }.joined(
      separator: "\n"
    )
    return problems + ["\(story.queues)\n\(plan)", "\(story.events)", simulation.log]
  }

  private mutating func makeOperation(
    _ number: Int,
    _ plan: ReferenceModel.Plan,
    _ events: Events
  ) -> AdvancedOperation {
    let fails = plan.bodyFails
    let sleeps = chance(50) ? Int.random(in: 0...1_500, using: &random) : nil
    let operation: AdvancedOperation
    if chance(50) || plan.attempts > 1 {
      let delay = Duration.milliseconds(chance(50) ? Int.random(in: 1...1_000, using: &random) : 0)
      let policy = RetryPolicy.constant(delay).attempts(plan.attempts).releasingSlot()
      operation = ResultOperation(name: "\(number)", retry: plan.attempts > 1 ? policy : nil) {
        let attempt = AdvancedOperation.current?.attempt ?? 0
        if attempt > 1 { events.add(.attemptBegan(number)) }
        if let sleeps, let clock = AdvancedOperation.current?.environment.clock {
          // One that doesn't look whether it was cancelled.
          try? await clock.sleep(until: clock.now + .milliseconds(sleeps))
        }
        if attempt < plan.attempts {
          events.add(.attemptFailed(number))
          throw Flaw()
        }
        if fails { throw Flaw() }
      }
    } else {
      operation = PlainBody(fails: fails, sleeps: sleeps)
      operation.name = "\(number)"
    }
    operation.queuePriority = Operation.QueuePriority(clamping: plan.priority)
    for verdict in plan.verdicts {
      let result: OperationConditionResult
      switch verdict {
      case .satisfied: result = .satisfied
      case .failed: result = .failed(Flaw())
      case .skipped: result = .skipped(reason: "no need")
      }
      if chance(50) {
        operation.addCondition(Immediate(result: result))
      } else {
        operation.addCondition(Late(result: result))
      }
    }
    for rule in plan.rules {
      switch rule {
      case .noFailedDependencies: operation.addCondition(NoFailedDependencies())
      case .noCancelledDependencies: operation.addCondition(NoCancelledDependencies())
      }
    }
    for claim in plan.claims {
      let whenBusy: WhenBusy
      switch claim.busy {
      case .wait: whenBusy = .wait
      case .fail: whenBusy = .fail
      case .skip: whenBusy = .skip
      case .cancelHolder: whenBusy = .cancelHolder
      }
      operation.addClaim(
        MutuallyExclusive(claim.name, limit: claim.limit, whenBusy: whenBusy)
      )
    }
    operation.addObserver(Reporter(number: number, events: events))
    operation.afterIdle { _ in events.add(.idle(number)) }
    return operation
  }

  /// Ends in its body, or when a timer says so; a cancel ends it at once.
  private final class PlainBody: AdvancedOperation, @unchecked Sendable {
    private let fails: Bool
    private let sleeps: Int?

    init(fails: Bool, sleeps: Int?) {
      self.fails = fails
      self.sleeps = sleeps
      super.init()
    }

    override func execute() {
      guard let sleeps else {
        end()
        return
      }
      let clock = environment.clock
      _ = clock.schedule(at: clock.now + .milliseconds(sleeps)) { self.end() }
    }

    private func end() { if fails { finish(withError: Flaw()) } else { finish() } }
  }
}

/// What was told, in order.
final class Events: Sendable {
  private let kept = Locked<[ReferenceModel.Event]>([])
  var all: [ReferenceModel.Event] { kept.withLock { $0 } }
  func add(_ event: ReferenceModel.Event) { kept.withLock { $0.append(event) } }
}
