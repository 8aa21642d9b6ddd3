import CoreOperations

/// All that changes in an advanced operation; guarded by its one lock.
struct AdvancedCore {
  var machine = OperationStateMachine()
  var line = EventLine()
  /// Also some that were removed since.
  var observers: [OperationObservation] = []
  var conditions: [any OperationCondition] = []
  var claims: [ClaimDemand] = []
  var conditionPolicy = AdvancedOperation.ConditionPolicy.evaluateAll
  /// Whether the core keeps slot and membership on our behalf.
  var holdsQuiet = false
  /// Whether the operation has, or had, a group that hears of its outcome.
  var isChild = false
  /// Whether a journal is asked before the conditions.
  var isJournaled = false
  /// Whether there has been a time limit.
  ///
  /// Not in the extra, where each access is checked to be exclusive at run time.
  var hasTimers = false
  /// Whether circuits decide about the start, too.
  var hasBreakers = false
  var lastObserver: UInt32 = 0
  // In nanoseconds, because a duration takes twice as much.
  var admittedAt = Self.notAdmitted
  private static var notAdmitted: Int64 { .min }
  var environment: OperationEnvironment?
  /// Whether the queue may have a delegate.
  var mayHaveDelegate: Bool { environment?.delegates.mayExist == true }
  /// Made on first use.
  var extra: AdvancedExtra?

  var errors: [any Error] { machine.elements.isEmpty ? [] : machine.elements.map(\.error) }

  /// Whether entering a state has to be recorded or delivered.
  func isOfInterest(_ state: AdvancedOperation.State) -> Bool {
    hasTimers || extra != nil && StateTimes.hasPlace(for: state) || environment?.isTraced == true
  }

  /// When the operation was enqueued or started manually, by the clock of its environment; nil before.
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
  mutating func attach(_ observation: OperationObservation) {
    if observers.count == observers.capacity, observers.count >= 8 {
      observers.removeAll { !$0.isAttached }
    }
    observers.append(observation)
  }
}

/// What few operations have; only touched under the lock of the ``AdvancedCore`` that it is in.
final class AdvancedExtra {
  /// The evaluation of conditions that is running, in a task or until helpers finish.
  var evaluation = RunningEvaluation()
  /// How many tasks that evaluate conditions there have been.
  var evaluationCount = 0
  /// Whether conditions will be evaluated early, because a dependency has finished.
  var isEarlyEvaluationScheduled = false
  /// Whether an early evaluation was due and has not been made, because the queue is suspended.
  var isEarlyEvaluationOwed = false
  /// Whether the operation leaves as soon as an input has failed.
  var watchesInputs = false
  /// The names of the conditions that brought the awaited helpers.
  var helpedConditions: [String] = []
  /// Time limits that have not begun to count, and those that have.
  var timeouts: [TimeLimit] = []
  var timers: [(phase: TimeoutObserver.Phase, timer: OperationTimer)] = []
  /// When it entered its states, since there is an extra.
  var stateTimes = StateTimes()
  /// The numbers of the conditions that are being evaluated.
  var openConditions: [Int] = []
  /// The answers of the parts of conditions, for the evaluation at the start.
  var keptAnswers: [ObjectIdentifier: CompoundRun.Answers] = [:]
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
  /// Run when the operation is finished, or quiet.
  var afterFinished: [@Sendable () -> Void] = []
  var afterQuiet: [@Sendable (AdvancedOperation) -> Void] = []
  /// The operation that this one is a child of: a group, or one that repeats.
  weak var group: AdvancedOperation?
  /// Its number among the children of that, where it is a group.
  var numberInGroup = 0
}
