import CoreOperations

/// The states of an advanced operation, as a pure value that receives events and returns actions.
///
/// The machine has no lock, no callback and no clock. Each event is one mutating method. A caller's mistake
/// is a value (`.reject`), so that tests can check it. The states are entered in this order, and some are
/// skipped: pending → evaluatingConditions → ready → executing → finishing → finished.
package struct OperationStateMachine: Sendable {
  package typealias State = AdvancedOperation.State
  package typealias Element = OperationFailure.Element

  /// A caller's mistake.
  package enum Mistake: Equatable, Sendable {
    case finishBeforeExecuting(State)
    case conditionAddedLate(State)
    case journalAttachedLate(State)
    case journalAttachedAgain
    case startedAgain(State)
    case startedBeforeReady
  }

  /// The phase of the operation, which only moves forward.
  package enum Phase: UInt8, Comparable, Sendable {
    /// The operation isn't in a queue, and wasn't started manually.
    case notSubmitted
    case pending
    case evaluatingConditions
    case ready
    case executing
    /// The end is decided. Children that have not been started have to leave before the outcome is decided,
    /// because rollbacks may add errors.
    case awaitingChildren
    /// The outcome is decided, and observers are being notified that the operation will finish.
    case notifyingWillFinish
    case notifyingDidFinish
    case finished

    /// The public state.
    ///
    /// The property isn't inlined, because the code around each use would be duplicated for each case, which
    /// is 5 % of an operation's instructions (callgrind).
    @inline(never)
    package var state: State {
      switch self {
      case .notSubmitted, .pending: .pending
      case .evaluatingConditions: .evaluatingConditions
      case .ready: .ready
      case .executing: .executing
      case .awaitingChildren, .notifyingWillFinish, .notifyingDidFinish: .finishing
      case .finished: .finished
      }
    }

    package static func < (a: Phase, b: Phase) -> Bool { a.rawValue < b.rawValue }
  }

  /// The data of the first cancel.
  private struct Cancellation: Sendable {
    let canceller: OperationFailure.Canceller
    /// The index of the reason among the elements; nil for a cancel without a reason.
    let reasonIndex: Int32?
  }

  // The large properties come first, because each small property would take a word otherwise.
  package private(set) var elements: [Element] = []
  private var skipReason: String?
  /// The outcome; nil before it is decided.
  package private(set) var outcome: OperationOutcome?
  package private(set) var phase = Phase.notSubmitted
  private var cancellation: Cancellation?
  // The type has as many bits as the count in a failure.
  private var notRun: Int32 = 0
  /// The number of bodies that are running: `execute()` on a call stack, a task, or the report of the end.
  private var bodies: Int16 = 0
  /// A Boolean value that indicates whether the start was decided, so that observers are notified of it and
  /// `execute()` is due.
  package private(set) var hasStarted = false
  /// A Boolean value that indicates whether the core keeps slot and membership beyond the end, until the
  /// operation is idle.
  package private(set) var isHeldUntilIdle = false
  /// A Boolean value that indicates whether the operation will not execute.
  ///
  /// Then its conditions failed or skipped it, a claim was refused, or its value is known.
  package private(set) var isMarked = false
  private var hasUnstartedChildren = false

  package init() {}

  /// The public state, which several phases share.
  package var state: State { phase.state }

  /// A Boolean value that indicates whether the operation was added to a queue, or started manually.
  package var isSubmitted: Bool { phase != .notSubmitted }
  package var isCancelled: Bool { cancellation != nil }
  package var notRunCount: Int { Int(notRun) }

  /// A Boolean value that indicates whether the end is decided, so that a cancel is ignored.
  package var isEndDecided: Bool { phase >= .awaitingChildren }
  /// A Boolean value that indicates whether the operation has finished and no body is running.
  package var isIdle: Bool { bodies == 0 && phase == .finished }

  /// A Boolean value that indicates whether `execute()` is on a call stack, or an async body is running.
  package var hasBody: Bool { hasStarted && bodies > 0 }

  /// A Boolean value that indicates whether `execute()` has returned, no body is running, and `finish()` was
  /// not called.
  package var hasReturned: Bool { hasStarted && bodies == 0 && phase == .executing }

  /// The errors with which the operation will end, before they are its outcome; nil if there are no errors.
  package var failure: OperationFailure? {
    elements.isEmpty ? nil : OperationFailure(elements: elements, notRunCount: notRunCount)
  }

  /// The reason of the first cancel; nil if that cancel had no reason.
  package var cancellationReason: (any Error)? {
    cancellation?.reasonIndex.map { elements[Int($0)].error }
  }

  /// A Boolean value that indicates whether the operation would succeed if its outcome were decided now.
  package var endsWell: Bool { !isCancelled && elements.isEmpty && skipReason == nil }

  // MARK: Children

  /// A Boolean value that indicates whether there are children that have not been started, or may be added.
  ///
  /// These children have to leave before observers are notified of the end. Either the body starts them, or
  /// an end that was decided before lets them leave.
  package var holdsChildren: Bool { hasUnstartedChildren && phase <= .awaitingChildren }

  /// Records that children are added to the operation.
  package mutating func childrenExpected() {
    hasUnstartedChildren = true
  }

  /// Records that the body is about to start the children.
  ///
  /// - Returns: Whether the body may start them. Otherwise the end that was decided before lets them leave.
  package mutating func childrenDue() -> Bool {
    guard phase == .executing else { return false }
    hasUnstartedChildren = false
    return true
  }

  /// Records that the children that were never started have left, so that observers can be notified of the
  /// end.
  package mutating func childrenLeft(_ errors: [Element]) {
    guard phase == .awaitingChildren else {
      internalError("the children of an operation left in the state \(state)")
    }
    recordOwn(errors)
    decideOutcome()
  }

  // MARK: Before the start

  /// The machine's answer to a condition, a claim or a journal that is added.
  package enum AddAction: Equatable, Sendable {
    case record
    case reject(Mistake)
  }

  /// Records that a condition or a claim was added.
  package func conditionAdded() -> AddAction {
    if isCancelled || phase == .notSubmitted { return .record }
    return .reject(.conditionAddedLate(state))
  }

  /// Records that the operation was given a journal.
  ///
  /// Even a cancelled operation accepts no journal once it was submitted. It may already be idle, and then no
  /// code would release the journal.
  ///
  /// - Parameter isFirst: A Boolean value that indicates whether the operation has no journal yet.
  /// - Returns: The answer to the journal.
  package func journalAttached(isFirst: Bool) -> AddAction {
    if isSubmitted { return .reject(.journalAttachedLate(state)) }
    return isFirst ? .record : .reject(.journalAttachedAgain)
  }

  /// Records that the operation was added to a queue.
  package mutating func enqueued() {
    if phase == .notSubmitted { phase = .pending }
  }

  /// The machine's answer to a call of `start()` by the program.
  package enum ManualStartAction: Equatable, Sendable {
    /// Add the operation to a separate queue, which evaluates conditions and acquires claims.
    case enqueue
    /// Run the operation on the caller's thread.
    case run
    /// Do nothing, because the operation has finished.
    case ignore
    case reject(Mistake)
  }

  /// Records that the program called `start()`.
  package mutating func startedManually(
    hasConditions: Bool,
    hasClaims: Bool,
    dependenciesAreFinished: Bool
  ) -> ManualStartAction {
    guard phase == .notSubmitted else {
      return phase == .finished ? .ignore : .reject(.startedAgain(state))
    }
    guard dependenciesAreFinished || isCancelled else { return .reject(.startedBeforeReady) }
    if isCancelled || !(hasConditions || hasClaims) {
      phase = .ready
      return .run
    }
    phase = hasConditions ? .evaluatingConditions : .ready
    return .enqueue
  }

  /// The step that follows when the last dependency has finished.
  package enum DependenciesAction: Equatable, Sendable {
    case evaluate
    case none
  }

  /// Records that the last dependency finished in an operation with conditions.
  package mutating func dependenciesFinished() -> DependenciesAction {
    // The operation was cancelled while this event was on its way.
    if isCancelled { return .none }
    switch phase {
    // A manual start has already entered `evaluatingConditions`. The queue sends this event once.
    case .notSubmitted, .pending, .evaluatingConditions:
      phase = .evaluatingConditions
      return .evaluate
    case .ready, .executing, .awaitingChildren, .notifyingWillFinish, .notifyingDidFinish,
      .finished:
      return .none
    }
  }

  /// The answer of a journal, or of all conditions together.
  package enum Verdict: Sendable {
    case satisfied
    /// The value is known from an earlier run, so the operation succeeds without executing.
    case valueKnown
    case skipped(reason: String)
    case failed([Element])

    /// Combines several answers: a failure takes precedence over a skip.
    init(failures: [Element], skipReason: String?) {
      if !failures.isEmpty {
        self = .failed(failures)
      } else {
        self = skipReason.map { .skipped(reason: $0) } ?? .satisfied
      }
    }
  }

  /// A Boolean value that indicates whether the operation has succeeded without executing, because its value
  /// was known.
  package var endedWithKnownValue: Bool { isMarked && outcome?.isSuccess == true }

  /// The step that follows a verdict.
  package enum VerdictAction: Equatable, Sendable {
    /// The operation is ready and may start, ahead of others if it won't execute.
    case becomeReady(isMarked: Bool)
    /// The operation was cancelled in the meantime, so the verdict is ignored.
    case ignore
  }

  /// Records the answer of all conditions.
  package mutating func verdictsArrived(_ verdict: Verdict) -> VerdictAction {
    switch phase {
    case .evaluatingConditions:
      phase = .ready
      mark(verdict)
      return .becomeReady(isMarked: isMarked)
    case .notSubmitted, .pending: internalError("conditions answered before they were evaluated")
    case .ready, .executing, .awaitingChildren, .notifyingWillFinish, .notifyingDidFinish,
      .finished:
      return .ignore
    }
  }

  /// Records that conditions aren't satisfied, regardless of the dependencies that have not finished.
  package mutating func decidedEarly(_ verdict: Verdict) -> VerdictAction {
    guard phase == .pending, !isCancelled else { return .ignore }
    phase = .ready
    mark(verdict)
    return .becomeReady(isMarked: isMarked)
  }

  /// Records that a condition was evaluated again after a wait, or that a claim was refused.
  package mutating func reviewed(_ verdict: Verdict) -> VerdictAction {
    switch phase {
    case .notSubmitted, .pending, .ready:
      guard !isCancelled else { return .ignore }
      mark(verdict)
      return .becomeReady(isMarked: isMarked)
    case .evaluatingConditions:
      internalError("a claim was requested while conditions were evaluated")
    case .executing, .awaitingChildren, .notifyingWillFinish, .notifyingDidFinish, .finished:
      return .ignore
    }
  }

  private mutating func mark(_ verdict: Verdict) {
    switch verdict {
    case .satisfied: return
    case .skipped(let reason): skipReason = skipReason ?? reason
    case .failed(let failed): elements += failed
    case .valueKnown: break
    }
    isMarked = true
  }

  // MARK: Running

  /// A Boolean value that indicates whether the operation would begin to execute if it were started now.
  package var mayStart: Bool {
    switch state {
    case .pending, .ready: !isCancelled && !isMarked
    case .evaluatingConditions, .executing, .finishing, .finished: false
    }
  }

  /// The step that follows when the operation is started.
  package enum TurnAction: Equatable, Sendable {
    /// Call ``launchDue()``, right before did-start is delivered.
    case begin
    /// The end is decided, and the operation does not execute.
    case decided
    case reject(Mistake)
  }

  /// Records that its queue started the operation, or that the program started it with no conditions to
  /// evaluate.
  package mutating func turnCame() -> TurnAction {
    switch state {
    case .pending, .ready:
      if isCancelled || isMarked {
        decideEnd()
        return .decided
      }
      phase = .executing
      return .begin
    case .evaluatingConditions, .executing, .finishing, .finished:
      return .reject(.startedAgain(state))
    }
  }

  /// The step that follows right before did-start is delivered.
  package enum LaunchAction: Equatable, Sendable {
    /// Deliver did-start, then call `execute()` if ``isBodyDue``. A call of ``bodyEnded()`` follows.
    case execute
    /// The operation was cancelled in between, so its end is decided, and it does not start.
    case decided
    /// The operation ended in between, so there is nothing to do.
    case none
  }

  /// Decides whether the operation starts, right before did-start is delivered.
  package mutating func launchDue() -> LaunchAction {
    switch state {
    case .executing:
      if isCancelled {
        decideEnd()
        return .decided
      }
      hasStarted = true
      bodies += 1
      return .execute
    case .finishing, .finished: return .none
    case .pending, .evaluatingConditions, .ready: internalError("did-start is due in \(state)")
    }
  }

  /// A Boolean value that indicates whether `execute()` is called after did-start was delivered.
  ///
  /// A cancel in between arrives in the body, but a `finish` in between has ended the operation.
  package var isBodyDue: Bool { state == .executing || isCancelled }

  /// Records that a body begins that keeps running after `execute()` returned, in a separate task or as
  /// children.
  ///
  /// - Parameter isOnStack: A Boolean value that indicates whether the body begins on the stack of
  ///   `execute()`, and may end there. A call of ``bodyLeftStack()`` follows.
  package mutating func bodyBegan(isOnStack: Bool = false) {
    bodies += 1
    if !isOnStack { isHeldUntilIdle = true }
  }

  /// Records that a body that began on the stack of `execute()` leaves that stack.
  ///
  /// - Returns: Whether the body is still running, so that slot and membership are held for it.
  package mutating func bodyLeftStack() -> Bool {
    guard bodies > 1 else { return false }
    isHeldUntilIdle = true
    return true
  }

  /// Records that the body will run on another thread than the thread that starts the operation.
  package mutating func bodySent() { isHeldUntilIdle = true }

  /// Records that a body ended.
  ///
  /// - Returns: Whether the operation is idle now.
  package mutating func bodyEnded() -> Bool {
    bodies -= 1
    return bodies == 0 && phase == .finished
  }

  // MARK: Ending

  /// The step that follows a `finish`.
  package enum DecideAction: Equatable, Sendable {
    /// The end is decided, so will-finish and did-finish have to be delivered.
    case decided
    /// The end was decided before, or the operation was cancelled before it executed.
    case ignore
    case reject(Mistake)
  }

  /// Records a `finish`, with errors of the body or of children, or with an ``OperationSkipped``.
  package mutating func decide(_ errors: [Element], notRunCount: Int = 0) -> DecideAction {
    switch state {
    case .executing:
      record(errors, notRunCount: notRunCount)
      decideEnd()
      return .decided
    case .pending, .evaluatingConditions, .ready:
      return isCancelled ? .ignore : .reject(.finishBeforeExecuting(state))
    case .finishing, .finished: return .ignore
    }
  }

  /// Records errors that belong to the end before it is decided; does nothing afterwards.
  package mutating func record(_ errors: [Element], notRunCount: Int) {
    guard phase == .executing else { return }
    if !errors.isEmpty { recordOwn(errors) }
    notRun = Int32(clamping: self.notRunCount + notRunCount)
  }

  /// Records the errors that the body threw; a skip isn't an error, and neither is the answer to a cancel.
  private mutating func recordOwn(_ errors: [Element]) {
    for element in errors {
      if let reason = element.skipReasonOfBody {
        skipReason = skipReason ?? reason
      } else if !(isCancelled && element.error is CancellationError) {
        elements.append(element)
      }
    }
  }

  private mutating func decideEnd() {
    if hasUnstartedChildren { phase = .awaitingChildren } else { decideOutcome() }
  }

  /// Decides the outcome: a cancel takes precedence over errors, and errors take precedence over a skip.
  private mutating func decideOutcome() {
    phase = .notifyingWillFinish
    if !isCancelled, elements.isEmpty {
      outcome = skipReason.map { .skipped(reason: $0) } ?? .succeeded
      return
    }
    let failure = OperationFailure(
      elements: elements,
      notRunCount: notRunCount,
      canceller: cancellation?.canceller
    )
    outcome = isCancelled ? .cancelled(failure) : .failed(failure)
  }

  /// Records that will-finish was delivered.
  package mutating func willFinishNotified() {
    guard phase == .notifyingWillFinish else {
      internalError("will-finish was notified in the state \(state)")
    }
    phase = .notifyingDidFinish
  }

  /// Records that did-finish was delivered.
  ///
  /// The report of the end to dependents and waiters counts as a body, so that claims and slot are released
  /// after the report. A call of ``bodyEnded()`` follows.
  ///
  /// - Parameter isInBody: A Boolean value that indicates whether a body is running during the report, so
  ///   that the report needn't be counted.
  package mutating func didFinishNotified(isInBody: Bool = false) {
    guard phase == .notifyingDidFinish else {
      internalError("did-finish was notified in the state \(state)")
    }
    phase = .finished
    if !isInBody { bodies += 1 }
  }

  /// A Boolean value that indicates whether `produce` may add an operation now.
  package var mayProduce: Bool {
    switch phase {
    case .executing, .awaitingChildren, .notifyingWillFinish: true
    case .notSubmitted, .pending, .evaluatingConditions, .ready, .notifyingDidFinish, .finished:
      false
    }
  }

  // MARK: Cancelling

  /// The step that follows a `cancel`.
  package enum CancelAction: Equatable, Sendable {
    /// The end was decided before, or a time limit passed after a cancel.
    case ignore
    /// The operation was cancelled before, and the reason was recorded.
    case recorded
    /// Deliver did-cancel; the start checks the flag.
    case flag
    /// Deliver did-cancel, drop conditions, dependencies and claims, and make the queue release the
    /// operation.
    case leaveQueue
    /// Deliver did-cancel; the end is decided.
    case decided
    /// Deliver did-cancel, cancel the task and call the hook; the operation finishes when its body ends.
    case stopBody
  }

  /// Records a call of `cancel`.
  ///
  /// - Parameters:
  ///   - reason: The reason of the cancel; nil if it has none.
  ///   - policy: The effect of a cancel on the operation while it executes.
  ///   - isFromParent: A Boolean value that indicates whether the cancel comes from the parent of the
  ///     operation.
  /// - Returns: The step that follows.
  package mutating func cancelCalled(
    reason: Element?,
    policy: AdvancedOperation.CancellationPolicy,
    isFromParent: Bool = false
  ) -> CancelAction {
    if isEndDecided { return .ignore }
    // A time limit that passes while the operation is being stopped isn't a reason for the cancel.
    if isCancelled && reason?.origin == .timeout { return .ignore }
    if let reason { elements.append(reason) }
    if isCancelled { return .recorded }
    cancellation = Cancellation(
      canceller: isFromParent ? .parent : reason?.origin == .timeout ? .timeout : .caller,
      reasonIndex: reason == nil ? nil : Int32(elements.count - 1)
    )
    switch state {
    case .pending, .evaluatingConditions, .ready:
      if phase == .notSubmitted { return .flag }
      phase = .ready
      return .leaveQueue
    case .executing:
      switch policy {
      case .finishImmediately:
        decideEnd()
        return .decided
      case .whenFinishIsCalled: return hasStarted ? .stopBody : .flag
      }
    case .finishing, .finished: return .ignore
    }
  }
}
