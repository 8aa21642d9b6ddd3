import CoreOperations

/// The mutable state of an advanced operation, guarded by its lock.
///
/// - *Access*: any thread, in `AdvancedOperation.withCore`, in `change` if the state may change, and in
///   `changeAndDeliver` if events may result. These closures call no code of the program and release no
///   object of the program. They return a decision as a value instead.
/// - `machine` decides the state, the errors, the outcome, and the number of running bodies. Only its events
///   change it.
/// - `delivery` has the events in order, and the thread that delivers them. Only that thread takes the next
///   step from it, so one thread at a time calls observers.
/// - `observers` is appended to until the state is finished. The delivering thread has a copy.
/// - `conditions`, `claims`, `conditionPolicy` and `isJournaled` don't change once the operation is enqueued
///   or started, so code that evaluates them works on a copy. They are emptied when the operation is idle.
/// - `work` is set during initialization and refers to the state of a result operation's body. `extra` has
///   the properties that few operations need. This lock guards both objects, too.
/// - Inside this lock, the locks of the core's links and life (leaves) and the lock of a group's members may
///   be acquired. Inside the claims' lock, this lock isn't acquired.
///
/// This is safe because each fact has one owner. If the core keeps a copy of a fact (cancelled, finished),
/// the same step of this lock, or the delivering thread, changes both. See ``contradiction``.
struct AdvancedCore {
  var machine = OperationStateMachine()
  var delivery = EventDelivery()
  /// The attached observers, including some that were removed since.
  var observers: [OperationObservation] = []
  var conditions: [any OperationCondition] = []
  var claims: [ClaimRequest] = []
  var conditionPolicy = AdvancedOperation.ConditionPolicy.evaluateAll
  /// A Boolean value that indicates whether the operation has, or had, a group that has to be notified of its
  /// outcome.
  var isChild = false
  /// A Boolean value that indicates whether a journal is read before the conditions are evaluated.
  var isJournaled = false
  /// A Boolean value that indicates whether the operation has, or had, a time limit.
  ///
  /// The flag isn't in the extra, because exclusive access to the extra is checked at run time.
  var hasTimers = false
  /// A Boolean value that indicates whether the extra records the times at which the operation enters states.
  private(set) var recordsTimes = false
  /// A Boolean value that indicates whether circuit breakers also decide about the start.
  var hasBreakers = false
  /// A Boolean value that indicates whether conditions wait for changes instead of failing.
  var hasPatients = false
  var lastObserver: UInt32 = 0
  /// A Boolean value that indicates whether an observer may react to the enqueueing or the start.
  ///
  /// Otherwise neither is an event.
  private(set) var isStartNoticed = false
  // The time is in nanoseconds, because a `Duration` is twice as large.
  var admittedAt = Self.notAdmitted
  private static var notAdmitted: Int64 { .min }
  var environment: OperationEnvironment?
  /// A Boolean value that indicates whether the queue may have a delegate.
  var mayHaveDelegate: Bool { environment?.delegates.mayExist == true }
  /// The tracer of a simulation.
  var tracer: (any OperationTracer)? {
    environment?.isTraced == true ? environment?.tracer : nil
  }
  /// The work of a result operation, set during initialization; nil for all other operations.
  var work: ResultWork?
  /// The properties that few operations need, created on first use.
  var extra: AdvancedExtra?

  var errors: [any Error] { machine.elements.isEmpty ? [] : machine.elements.map(\.error) }

  /// A Boolean value that indicates whether the operation should have a value, has no value, and may still
  /// get a value.
  var lacksValue: Bool {
    // A cancelled operation has a reason for having no value.
    guard let work, !machine.isCancelled, !machine.isEndDecided else { return false }
    return work.output == nil
  }

  /// Returns whether entering a state has to be recorded or delivered.
  func isOfInterest(_ state: AdvancedOperation.State) -> Bool {
    hasTimers || recordsTimes && StateTimes.hasPlace(for: state) || environment?.isTraced == true
  }

  /// A Boolean value that indicates whether rollbacks are registered.
  var hasRollbacks: Bool { extra?.rollbacks.isEmpty == false }

  /// Records the times at which the operation enters states from now on.
  mutating func recordTimes() {
    recordsTimes = true
    _ = makeExtra()
  }

  /// The time at which the operation was enqueued or started manually, by the clock of its environment; nil
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

  /// Keeps an observation, and removes observations that were detached, so that they don't accumulate.
  mutating func attach(_ observation: OperationObservation, noticesStart: Bool) {
    if noticesStart { isStartNoticed = true }
    if observers.count == observers.capacity, observers.count >= 8 {
      observers.removeAll { !$0.isAttached }
    }
    // A literal costs a third of the first `append` (callgrind).
    if observers.isEmpty { observers = [observation] } else { observers.append(observation) }
  }
}

/// The properties that few operations need, guarded by the lock of their ``AdvancedCore``.
final class AdvancedExtra {
  /// The evaluation of conditions that is running, in a task or until prerequisites finish.
  var evaluation = RunningEvaluation()
  /// The number of tasks that have been created to evaluate conditions.
  var evaluationCount = 0
  /// A Boolean value that indicates whether conditions will be evaluated early, because a dependency has
  /// finished.
  var isEarlyEvaluationScheduled = false
  /// A Boolean value that indicates whether an early evaluation was due and hasn't run, because the queue is
  /// suspended.
  var isEarlyEvaluationOwed = false
  /// A Boolean value that indicates whether the operation leaves as soon as an input has failed.
  var watchesInputs = false
  /// The names of the conditions that created the prerequisites that the operation waits for.
  var conditionsOfPrerequisites: [String] = []
  /// The time limits that have not begun, and the timers of the others.
  var timeouts: [TimeLimit] = []
  var timers: [(phase: TimeoutObserver.Phase, timer: OperationTimer)] = []
  /// The deadline of the operation itself.
  var deadline: OwnDeadline?
  /// The deadline of the call of `run` that has added the operation; nil if several calls wait for it.
  var deadlineOfCall: Duration?
  /// The operation whose body called `run` and has a deadline; nil if several calls wait for the operation.
  weak var caller: AdvancedOperation?
  /// The deadline that the producer had.
  var deadlineOfProducer: OwnDeadline?
  /// The earliest deadline that isn't the deadline of a parent, a caller or a scope.
  var earliestDeadline: Duration? {
    .earlier(.earlier(deadline?.time, deadlineOfCall), deadlineOfProducer?.time)
  }
  /// The time of its last progress; nil without a limit of the time without progress.
  var stallWatch: StallWatch?
  /// The times at which the operation entered its states; complete only if times are recorded.
  var stateTimes = StateTimes()
  /// The numbers of the conditions that are being evaluated.
  var openConditions: [Int] = []
  /// The answers of the parts of conditions, for the evaluation at the start.
  var keptAnswers: [ObjectIdentifier: ConditionParts.Answers] = [:]
  /// The circuit breakers that have counted the end of the operation.
  var breakers: [ObjectIdentifier] = []
  /// The number of the current attempt, or of the last attempt.
  var attempt = 1
  /// The time at which the current attempt began; nil for the first attempt.
  var attemptBegin: Duration?
  /// The last operation that was created to recover from a failure of this operation.
  weak var recovery: AdvancedOperation?
  /// A Boolean value that indicates whether another operation has recovered from a failure of this operation.
  var isRecovered = false
  /// A Boolean value that indicates whether the parent only counts the failure of this operation, because too
  /// many children failed.
  var isLeftOut = false
  /// The operation that has produced this operation.
  weak var producer: AdvancedOperation?
  /// The rollbacks that are registered when the body is called.
  var rollbacks: [RollbackList.Rollback] = []
  /// The closures to run when the operation is idle.
  var afterIdle: [@Sendable (AdvancedOperation) -> Void] = []
  /// A closure that returns a sentence about the callers who share the operation, for its explanation.
  var remark: (@Sendable () -> String?)?
  /// The operation that this operation is a child of: a group, or an operation that runs rounds.
  weak var group: AdvancedOperation?
  /// The number of the operation among the children of the group, if the parent is a group.
  var numberInGroup = 0
}

/// The objects that an operation keeps until it is idle, besides its place in a queue.
struct Belongings: ~Copyable {
  let claims: [ClaimRequest]
  /// The domain of the claims; nil if there are no claims.
  let domain: ClaimDomain?
  let isHeldUntilIdle: Bool
  let afterIdle: [@Sendable (AdvancedOperation) -> Void]
  let tracer: (any OperationTracer)?
  let attached: Attached?

  /// Objects of the program, whose deinitializers may wait for the end of the operation.
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

    /// Removes the observers; the other objects are released with this value.
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
  /// Takes out the objects that an idle operation releases; nil if there are none, as for most operations.
  mutating func takeBelongings() -> Belongings? {
    let isBare = observers.isEmpty && conditions.isEmpty && claims.isEmpty && extra == nil
    return isBare && !machine.isHeldUntilIdle ? nil : Belongings(of: &self)
  }
}

extension AdvancedOperation {
  /// A description of two copies of one fact that disagree although one step of the lock changes both; nil if
  /// no copies disagree.
  ///
  /// This property is for simulations. A callback may run a simulation while the operation is between two
  /// steps, so facts that agree only after the last step aren't compared. The table of facts is in *How an
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

/// The times at which an operation entered its states; nil for states that it wasn't observed to enter.
struct StateTimes: Sendable {
  // This isn't an array, because an array was the most expensive part of an async condition (callgrind).
  var evaluating: Duration?
  private(set) var ready: Duration?
  private(set) var executing: Duration?
  /// The time at which the operation began to wait for its claims.
  ///
  /// The explanation of an operation without conditions uses it, because no code observed when such an
  /// operation became ready.
  var claiming: Duration?

  /// Returns whether the time of a state is recorded, because the times of other states are never read.
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
