import CoreOperations

/// A condition that waits for a change while it isn't satisfied, instead of failing: ``Gate`` or
/// ``WaitingCondition``.
///
/// An operation waits in two places. When its dependencies have finished, the task that evaluates the condition
/// waits. When the operation starts and the condition isn't satisfied any more, the operation returns its slot
/// and its claims, and its queue parks it.
protocol PatientCondition: OperationCondition {
  /// The changes after which the condition is evaluated again.
  var changes: ChangeSignal { get }
  /// The longest time for which an operation waits; nil for no limit.
  var longestWait: Duration? { get }
  /// Returns the answer at this moment; the operation starts with this answer if `isStarting` is true.
  func answer(for operation: AdvancedOperation, isStarting: Bool) -> PatientAnswer
  /// Returns the answer in a task; called if ``answer(for:isStarting:)`` has returned ``PatientAnswer/unknown``.
  func slowAnswer(for operation: AdvancedOperation) async -> PatientAnswer
  /// The subject of the wait in explanations, and the action that ends the wait if it doesn't end by itself.
  var wordsOfWait: (subject: String, remedy: String?) { get }
  /// Returns the reason of a wait, from the error with which it began.
  func reason(of error: any Error, for operation: AdvancedOperation) -> String
}

/// The answer of a condition that may wait.
enum PatientAnswer: Sendable {
  case decided(OperationConditionResult)
  /// The condition isn't satisfied, because of this error.
  case waits(any Error)
  /// The answer isn't known without waiting, or the earlier answer still applies.
  case unknown
}

extension PatientCondition {
  var longestWait: Duration? { nil }
  func slowAnswer(for operation: AdvancedOperation) async -> PatientAnswer { .unknown }

  func reason(of error: any Error, for operation: AdvancedOperation) -> String { error.inOneLine }

  var wordsOfWait: (subject: String, remedy: String?) {
    ("condition “\(name)”", "condition “\(name)” has to be satisfied")
  }

  /// Returns the answer of a negated condition, which doesn't wait.
  func resultNow(for operation: AdvancedOperation) -> OperationConditionResult? {
    switch answer(for: operation, isStarting: false) {
    case .decided(let result): result
    case .waits(let error): .failed(error)
    case .unknown: nil
    }
  }

  func resultWithoutWaiting(for operation: AdvancedOperation) -> OperationConditionResult? {
    if case .decided(let result) = answer(for: operation, isStarting: false) { result } else { nil }
  }

  /// Evaluates the condition again after each change, until it decides or the longest wait is over.
  func resultAfterChanges(for operation: AdvancedOperation) async -> OperationConditionResult {
    let clock = operation.environment.clock
    let begin = clock.now
    let end = longestWait.map { begin.saturatingAdding($0) }
    defer { operation.replaceConditionWait(for: changes, with: nil) }
    while true {
      let look = changes.look
      var answer = answer(for: operation, isStarting: false)
      if case .unknown = answer { answer = await slowAnswer(for: operation) }
      switch answer {
      case .decided(let result): return result
      case .unknown: return .satisfied
      case .waits(let error):
        if let last = look.end?(error) ?? end.flatMap({ clock.now < $0 ? nil : error }) {
          return .failed(last)
        }
        let wait = ConditionWait(self, error: error, version: look.version, begin: begin)
        operation.replaceConditionWait(for: changes, with: wait)
        do { try await changes.next(after: look.version, until: end, on: clock) } catch {
          return .failed(error)
        }
      }
    }
  }

  /// Returns the answer at the start.
  ///
  /// - Parameters:
  ///   - operation: The operation, which has its slot and its claims.
  ///   - isStarting: True if the operation starts when the condition is satisfied.
  ///   - begin: The time at which the operation began to wait at its start.
  ///   - waits: The waits, to which the method adds if the condition isn't satisfied. The answer is then
  ///     satisfied.
  /// - Returns: The answer; nil if an earlier answer applies.
  func resultAtStart(
    of operation: AdvancedOperation,
    isStarting: Bool,
    waitingSince begin: Duration,
    _ waits: inout [ConditionWait]
  ) -> OperationConditionResult? {
    let look = changes.look
    switch answer(for: operation, isStarting: isStarting) {
    case .decided(let result): return result
    case .unknown: return nil
    case .waits(let error):
      let wait = ConditionWait(self, error: error, version: look.version, begin: begin)
      let isOver = wait.end.map { operation.environment.clock.now >= $0 } ?? false
      if let last = look.end?(error) ?? (isOver ? error : nil) { return .failed(last) }
      waits.append(wait)
      return .satisfied
    }
  }
}

extension OperationCondition {
  /// The condition as a condition that waits; nil for all others.
  var patient: (any PatientCondition)? {
    // Types are compared first, as in `compoundParts`.
    guard
      Self.self == Gate.self || Self.self == WaitingCondition.self
        || Self.self == CircuitClosed.self
    else { return nil }
    if let closed = self as? CircuitClosed, !closed.waits { return nil }
    return self as? any PatientCondition
  }

  /// A Boolean value that indicates whether the condition, or a part of it, waits instead of failing.
  var mayWait: Bool { patient != nil || compoundParts?.patients.isEmpty == false }

  /// The parts of the condition that wait, or the condition itself.
  var patients: [any PatientCondition] { compoundParts?.patients ?? patient.map { [$0] } ?? [] }
}

// MARK: - Changes

/// The changes of something that conditions read, and the operations that wait for the next change.
final class ChangeSignal: Sendable {
  /// A closure that returns the error of an operation which would wait although there are no more changes, from
  /// the error of its condition.
  typealias End = @Sendable (any Error) -> any Error

  private struct State {
    var version: UInt64 = 0
    var end: End?
    var waiters = WaitList<ChangeSignal>()
  }

  private let state = Locked(State())

  /// The number of changes, and the end of the changes if there are no more.
  var look: (version: UInt64, end: End?) { state.withLock { ($0.version, $0.end) } }

  /// A recorded change, to be announced while no lock is held.
  struct Change {
    fileprivate let waiters: WaitList<ChangeSignal>
    /// The end before the change, which may be the last reference to an error of the program.
    fileprivate let oldEnd: End?
  }

  /// Records a change, and wakes all waiters.
  func changed(end: End? = nil) { announce(record(end: end)) }

  /// Records a change.
  func record(end: End?) -> Change {
    state.withLock { state in
      state.version += 1
      defer { (state.waiters, state.end) = (WaitList(), end) }
      return Change(waiters: state.waiters, oldEnd: state.end)
    }
  }

  /// Wakes the waiters of a change in the order in which they began to wait.
  func announce(_ change: Change) {
    withExtendedLifetime(change.oldEnd) { change.waiters.wakeAll(self) }
  }

  /// Registers a waiter, unless there was a change after the given version.
  func wait(_ waiter: WaitList<ChangeSignal>.Waiter, after version: UInt64) -> Bool {
    state.withLock { state in
      guard state.version == version else { return false }
      state.waiters.append(waiter)
      return true
    }
  }

  /// Records that a waiter doesn't wait any more.
  func waitEnded() { state.withLock { $0.waiters.waitCancelled() } }

  /// Suspends the task until there is a change after the given version, or until a time.
  func next(after version: UInt64, until end: Duration?, on clock: OperationClock) async throws {
    let wait = AsyncWait()
    let timer = end.map { end in clock.schedule(at: end) { wait.finish() } }
    defer {
      if let timer {
        timer.cancel()
        waitEnded()
      }
    }
    try await wait.run {
      self.wait(.task($0), after: version)
    } unregister: { _ in
      self.waitEnded()
    }
  }
}

/// A wait of an operation for a change of one of its conditions.
struct ConditionWait: Sendable {
  private let condition: any PatientCondition
  let changes: ChangeSignal
  let version: UInt64
  let begin: Duration
  let error: any Error

  init(_ condition: any PatientCondition, error: any Error, version: UInt64, begin: Duration) {
    self.condition = condition
    changes = condition.changes
    self.version = version
    self.begin = begin
    self.error = error
  }

  /// The time at which the operation fails instead of waiting; nil for no limit.
  var end: Duration? { condition.longestWait.map { begin.saturatingAdding($0) } }

  /// The wait of an operation as a wait of the core.
  func wait(of operation: AdvancedOperation) -> Wait {
    let words = condition.wordsOfWait
    return Wait(
      .change(
        of: condition.name,
        text: "waits for \(words.subject)",
        reason: condition.reason(of: error, for: operation),
        isReasonError: !(error is Gate.Closed),
        remedy: words.remedy,
        since: begin
      )
    )
  }
}

/// The wait of an operation that has returned its slot and its claims, because a condition isn't satisfied any
/// more.
struct StartWait: Sendable {
  let waits: [ConditionWait]
  let begin: Duration
  private let wake: RemovableClosure<@Sendable (ChangeSignal) -> Void>
  private var timer: OperationTimer?

  /// Begins the wait; nil if a condition has changed since it was evaluated.
  ///
  /// - Parameters:
  ///   - waits: The conditions.
  ///   - begin: The beginning of the wait.
  ///   - operation: The operation, which its queue offers again after a change.
  init?(_ waits: [ConditionWait], since begin: Duration, of operation: AdvancedOperation) {
    self.waits = waits
    self.begin = begin
    let wake = RemovableClosure<@Sendable (ChangeSignal) -> Void> { [weak operation] _ in
      operation?.reoffer()
    }
    self.wake = wake
    guard waits.allSatisfy({ $0.changes.wait(.removable(wake), after: $0.version) }) else {
      remove()
      return nil
    }
    timer = waits.compactMap(\.end).min().map { end in
      operation.environment.clock.schedule(at: end) { [weak operation] in operation?.reoffer() }
    }
  }

  /// Ends the wait.
  func remove() {
    timer?.cancel()
    let closure = wake.take()
    for wait in waits { wait.changes.waitEnded() }
    withExtendedLifetime(closure) {}
  }
}

extension AdvancedOperation {
  /// The waits of the operation for changes of its conditions.
  final var conditionWaits: [ConditionWait] {
    withCore { core in
      guard core.hasPatients, let evaluation = core.extra?.evaluation else { return [] }
      return evaluation.waits + (evaluation.startWait?.waits ?? [])
    }
  }

  /// Records that a task of the operation waits for a change, or doesn't wait any more.
  fileprivate final func replaceConditionWait(for changes: ChangeSignal, with wait: ConditionWait?)
  {
    let old = withCore { core in
      let extra = core.makeExtra()
      defer {
        extra.evaluation.waits.removeAll { $0.changes === changes }
        if let wait { extra.evaluation.waits.append(wait) }
      }
      return extra.evaluation.waits
    }
    withExtendedLifetime(old) {}
  }

  /// Ends the wait at the start, and returns the time at which it began; nil if there was none.
  final func endStartWait() -> Duration? {
    guard let wait = withCore({ $0.extra?.evaluation.startWait.take() }) else { return nil }
    wait.remove()
    return wait.begin
  }

  /// Lets the operation wait at its start until a condition changes.
  ///
  /// - Returns: False if a condition has changed since it was evaluated.
  final func beginStartWait(_ waits: [ConditionWait], since begin: Duration) -> Bool {
    guard let wait = StartWait(waits, since: begin, of: self) else { return false }
    let isOver = withCore { core in
      if core.machine.isCancelled || core.machine.isEndDecided { return true }
      core.makeExtra().evaluation.startWait = wait
      return false
    }
    if isOver { wait.remove() }
    return true
  }
}
