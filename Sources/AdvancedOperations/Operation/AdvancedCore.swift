import CoreOperations

/// All that changes in an advanced operation, guarded by its lock.
///
/// - *Who touches it*: any thread, in `AdvancedOperation.withCore`, or in `change` if the state may
///   change and in `changeAndDeliver` if events may come of it. No code of the program is called
///   and no object of the program is released in there; a decision comes out as a value.
/// - `machine` decides the state, the errors, the outcome, and how many bodies go on. Only its
///   events change it.
/// - `delivery` has the events in order, and the thread that delivers them. Only that thread asks
///   it for the next step, so observers are called by one thread at a time.
/// - `observers` is appended to until the state is finished. The delivering thread has a copy.
/// - `conditions`, `claims`, `conditionPolicy` and `isJournaled` don't change once the operation is
///   enqueued or started: code that evaluates works on a copy. They are emptied when it is idle.
/// - `work` is set while initializing and refers to the state of a result operation's body, `extra`
///   to what few operations have. Both objects are guarded by this lock, too.
/// - Locks that may be taken inside: those of the core's links and life (leaves), and the lock of a
///   group's members. Inside of the claims' lock, this one isn't taken.
///
/// Why that is safe: each fact has one owner, and where the core keeps a copy (cancelled, finished)
/// the same step of this lock, or the thread that delivers, changes both; see ``contradiction``.
struct AdvancedCore {
  var machine = OperationStateMachine()
  var delivery = EventDelivery()
  /// Also some that were removed since.
  var observers: [OperationObservation] = []
  var conditions: [any OperationCondition] = []
  var claims: [ClaimRequest] = []
  var conditionPolicy = AdvancedOperation.ConditionPolicy.evaluateAll
  /// Whether the operation has, or had, a group that hears of its outcome.
  var isChild = false
  /// Whether a journal is asked before the conditions.
  var isJournaled = false
  /// Whether there has been a time limit.
  ///
  /// Not in the extra, where each access is checked to be exclusive at run time.
  var hasTimers = false
  /// Whether the times at which the operation enters states are recorded in the extra.
  private(set) var recordsTimes = false
  /// Whether circuits decide about the start, too.
  var hasBreakers = false
  var lastObserver: UInt32 = 0
  /// Whether an observer may do something when the operation is enqueued or starts; without one,
  /// neither is an event.
  private(set) var isStartNoticed = false
  // In nanoseconds, because a duration takes twice as much.
  var admittedAt = Self.notAdmitted
  private static var notAdmitted: Int64 { .min }
  var environment: OperationEnvironment?
  /// Whether the queue may have a delegate.
  var mayHaveDelegate: Bool { environment?.delegates.mayExist == true }
  /// The tracer of a simulation.
  var tracer: (any OperationTracer)? {
    environment?.isTraced == true ? environment?.tracer : nil
  }
  /// The body's side of a result operation; nil for all others, and set while initializing.
  var work: ResultWork?
  /// Made on first use.
  var extra: AdvancedExtra?

  var errors: [any Error] { machine.elements.isEmpty ? [] : machine.elements.map(\.error) }

  /// Whether the operation is to have a value, has none, and may still get one.
  var lacksValue: Bool {
    // A cancelled operation has a reason to be without a value.
    guard let work, !machine.isCancelled, !machine.isEndDecided else { return false }
    return work.output == nil
  }

  /// Whether entering a state has to be recorded or delivered.
  func isOfInterest(_ state: AdvancedOperation.State) -> Bool {
    hasTimers || recordsTimes && StateTimes.hasPlace(for: state) || environment?.isTraced == true
  }

  /// Whether there is something that undoes the work.
  var hasRollbacks: Bool { extra?.rollbacks.isEmpty == false }

  /// Records the times at which the operation enters states from now on.
  mutating func recordTimes() {
    recordsTimes = true
    _ = makeExtra()
  }

  /// When the operation was enqueued or started manually, by the clock of its environment; nil
  /// before.
  var admitted: Duration? {
    admittedAt == Self.notAdmitted ? nil : .nanoseconds(admittedAt)
  }

  mutating func makeExtra() -> AdvancedExtra {
    if let extra { return extra }
    let made = AdvancedExtra()
    extra = made
    return made
  }

  /// Keeps an observation, and forgets those that were removed, so that they don't pile up.
  mutating func attach(_ observation: OperationObservation, noticesStart: Bool) {
    if noticesStart { isStartNoticed = true }
    if observers.count == observers.capacity, observers.count >= 8 {
      observers.removeAll { !$0.isAttached }
    }
    // A literal costs a third of what the first `append` does (callgrind).
    if observers.isEmpty { observers = [observation] } else { observers.append(observation) }
  }
}

/// What few operations have; only touched under the lock of the ``AdvancedCore`` that it is in.
final class AdvancedExtra {
  /// The evaluation of conditions that is running, in a task or until prerequisites finish.
  var evaluation = RunningEvaluation()
  /// How many tasks that evaluate conditions there have been.
  var evaluationCount = 0
  /// Whether conditions will be evaluated early, because a dependency has finished.
  var isEarlyEvaluationScheduled = false
  /// Whether an early evaluation was due and has not been made, because the queue is suspended.
  var isEarlyEvaluationOwed = false
  /// Whether the operation leaves as soon as an input has failed.
  var watchesInputs = false
  /// The names of the conditions that brought the awaited prerequisites.
  var conditionsOfPrerequisites: [String] = []
  /// Time limits that have not begun to count, and those that have.
  var timeouts: [TimeLimit] = []
  var timers: [(phase: TimeoutObserver.Phase, timer: OperationTimer)] = []
  /// When it entered its states; all of them only if times are recorded.
  var stateTimes = StateTimes()
  /// The numbers of the conditions that are being evaluated.
  var openConditions: [Int] = []
  /// The answers of the parts of conditions, for the evaluation at the start.
  var keptAnswers: [ObjectIdentifier: ConditionParts.Answers] = [:]
  /// The circuit breakers that have counted its end.
  var breakers: [ObjectIdentifier] = []
  /// The number of the attempt that is going on, or was the last.
  var attempt = 1
  /// The operation that recovers from a failure of this one, the last that was made.
  weak var recovery: AdvancedOperation?
  /// Whether another operation has succeeded in recovering from a failure of this one.
  var isRecovered = false
  /// Whether its parent only counts its failure, because there were so many.
  var isLeftOut = false
  /// The operation that has produced it.
  weak var producer: AdvancedOperation?
  /// What undoes its work, until the body is called.
  var rollbacks: [RollbackList.Rollback] = []
  /// The closures to run when the operation is idle.
  var afterIdle: [@Sendable (AdvancedOperation) -> Void] = []
  /// Returns a sentence about the callers who share the operation, for its explanation.
  var remark: (@Sendable () -> String?)?
  /// The operation that this one is a child of: a group, or one that repeats.
  weak var group: AdvancedOperation?
  /// Its number among the children of that, where it is a group.
  var numberInGroup = 0
}

/// What an operation has until it is idle, besides its place in a queue.
struct Belongings: ~Copyable {
  let claims: [ClaimRequest]
  /// The domain of the claims; nil without claims.
  let domain: ClaimDomain?
  let isHeldUntilIdle: Bool
  let afterIdle: [@Sendable (AdvancedOperation) -> Void]
  let tracer: (any OperationTracer)?
  let attached: Attached?

  /// Objects of the program, whose deinits may wait for the end.
  struct Attached: ~Copyable {
    private let observers: [OperationObservation]
    private let conditions: [any OperationCondition]
    private let ofExtra:
      (
        RunningEvaluation, keptAnswers: [ObjectIdentifier: ConditionParts.Answers],
        rollbacks: [RollbackList.Rollback]
      )?

    fileprivate init(to core: inout AdvancedCore) {
      observers = exchange(&core.observers, with: [])
      conditions = exchange(&core.conditions, with: [])
      ofExtra = core.extra.map { extra in
        (
          exchange(&extra.evaluation, with: RunningEvaluation()),
          exchange(&extra.keptAnswers, with: [:]), exchange(&extra.rollbacks, with: [])
        )
      }
    }

    /// Removes the observers; the rest is released with this.
    func removeObservers() { for observation in observers { observation.remove() } }
  }

  fileprivate init(of core: inout AdvancedCore) {
    claims = exchange(&core.claims, with: [])
    domain = claims.isEmpty ? nil : (core.environment ?? .default).claimDomain
    isHeldUntilIdle = core.machine.isHeldUntilIdle
    tracer = core.tracer
    afterIdle = core.extra.map { exchange(&$0.afterIdle, with: []) } ?? []
    let isBare = core.observers.isEmpty && core.conditions.isEmpty && core.extra == nil
    attached = isBare ? nil : Attached(to: &core)
  }
}

extension AdvancedCore {
  /// Takes out what an idle operation releases; nil if there is nothing, as for most.
  mutating func takeBelongings() -> Belongings? {
    let isBare = observers.isEmpty && conditions.isEmpty && claims.isEmpty && extra == nil
    return isBare && !machine.isHeldUntilIdle ? nil : Belongings(of: &self)
  }
}

extension AdvancedOperation {
  /// Two copies of one fact that disagree although one step of the lock changes both; nil if none
  /// do.
  ///
  /// For simulations. A callback may run one while the operation is between two steps, so facts
  /// that only agree after the last step aren't compared. The table of facts is in *How an
  /// operation runs and ends*.
  package final var contradiction: String? {
    withCore { core in
      let machine = core.machine
      let hasEnded = machine.state >= .finishing
      if super.isCancelled != machine.isCancelled { return "cancelled in one place only" }
      if isClosed, machine.state != .finished { return "closed, and \(machine.state)" }
      if hasEnded != (machine.outcome != nil || hasEnded && machine.holdsChildren) {
        return "\(machine.state), with the outcome \(String(describing: machine.outcome))"
      }
      return nil
    }
  }
}

/// When an operation entered its states; nil for those that it was not seen to enter.
struct StateTimes: Sendable {
  // Not an array, which cost more than all else about an async condition (callgrind).
  var evaluating: Duration?
  private(set) var ready: Duration?
  private(set) var executing: Duration?
  /// When it began to wait for its claims: for an explanation of an operation without conditions,
  /// which wasn't seen to become ready.
  var claiming: Duration?

  /// The others are never read.
  static func hasPlace(for state: AdvancedOperation.State) -> Bool {
    switch state {
    case .evaluatingConditions, .ready, .executing: true
    case .pending, .finishing, .finished: false
    }
  }

  mutating func entered(_ state: AdvancedOperation.State, at time: Duration) {
    switch state {
    case .evaluatingConditions: evaluating = time
    case .ready: ready = time
    case .executing: executing = time
    case .pending, .finishing, .finished: return
    }
  }
}
