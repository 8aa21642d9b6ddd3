import CoreOperations

/// The life of an advanced operation: a pure value that takes events and says what to do.
///
/// No lock, no callback, no clock. Each event is one mutating method; a caller's mistake is a value
/// (`.reject`), so that it can be tested. The states are entered in their order, and some are
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

  /// Where the operation is; only ever forward.
  package enum Phase: UInt8, Comparable, Sendable {
    /// In no queue, and not started manually.
    case notSubmitted
    case pending
    case evaluatingConditions
    case ready
    case executing
    /// The end is decided. Children that have not been started have to leave before the outcome is
    /// decided, because what undoes the work may add errors.
    case awaitingChildren
    /// The outcome is decided, and observers are being notified that the operation will finish.
    case notifyingWillFinish
    case notifyingDidFinish
    case finished

    /// The public state.
    ///
    /// Not inlined, because the code around each use would be duplicated for each case: 5 % of an
    /// operation's instructions (callgrind).
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

  /// What the first cancel left.
  private struct Cancellation: Sendable {
    let canceller: OperationFailure.Canceller
    /// The index of its reason among the elements; nil without one.
    let reasonIndex: Int32?
  }

  // The large ones first, or each small one would take a word.
  package private(set) var elements: [Element] = []
  private var skipReason: String?
  /// How it ended; nil before that is decided.
  package private(set) var outcome: OperationOutcome?
  package private(set) var phase = Phase.notSubmitted
  private var cancellation: Cancellation?
  // As many as a failure counts.
  private var notRun: Int32 = 0
  /// How many of its bodies are going on: `execute()` on a stack, a task, the report of its end.
  private var bodies: Int16 = 0
  /// Whether the start was decided: observers are notified of it, and `execute()` is due.
  package private(set) var hasStarted = false
  /// Whether the core holds slot and membership beyond the end, until the operation is idle.
  package private(set) var isHeldUntilIdle = false
  /// Conditions failed or had nothing to do, a claim was refused, or its value is known: it will
  /// not execute.
  package private(set) var isMarked = false
  private var hasUnstartedChildren = false

  package init() {}

  /// The public state, which several phases share.
  package var state: State { phase.state }

  /// Whether the operation was added to a queue, or started manually.
  package var isSubmitted: Bool { phase != .notSubmitted }
  package var isCancelled: Bool { cancellation != nil }
  package var notRunCount: Int { Int(notRun) }

  /// Whether a cancel would still be accepted.
  package var isEndDecided: Bool { phase >= .awaitingChildren }
  /// Finished, and no body is going on.
  package var isIdle: Bool { bodies == 0 && phase == .finished }

  /// Whether `execute()` is on a stack, or an async body goes on.
  package var hasBody: Bool { hasStarted && bodies > 0 }

  /// Whether `execute()` has returned, no body goes on, and `finish()` was not called.
  package var hasReturned: Bool { hasStarted && bodies == 0 && phase == .executing }

  /// Why the operation ends as it does, while that isn't its outcome yet; nil without an error.
  package var failure: OperationFailure? {
    elements.isEmpty ? nil : OperationFailure(elements: elements, notRunCount: notRunCount)
  }

  /// The reason of the first cancel; nil if it had none.
  package var cancellationReason: (any Error)? {
    cancellation?.reasonIndex.map { elements[Int($0)].error }
  }

  /// Whether the operation would succeed if its outcome were decided now.
  package var endsWell: Bool { !isCancelled && elements.isEmpty && skipReason == nil }

  // MARK: Children

  /// Whether there are children that have not been started, or may come.
  ///
  /// They have to leave before observers are notified of the end, so this decides what takes them
  /// out: the body that starts them, or the end that was decided before.
  package var holdsChildren: Bool { hasUnstartedChildren && phase <= .awaitingChildren }

  /// The operation is one that children are added to.
  package mutating func childrenExpected() {
    hasUnstartedChildren = true
  }

  /// The body is about to start the children.
  ///
  /// - Returns: Whether it may; otherwise they are left to the end that was decided before.
  package mutating func childrenDue() -> Bool {
    guard phase == .executing else { return false }
    hasUnstartedChildren = false
    return true
  }

  /// The children that were never started have left, so observers can be notified of the end.
  package mutating func childrenLeft(_ errors: [Element]) {
    guard phase == .awaitingChildren else { trap("children left in the state \(state)") }
    recordOwn(errors)
    decideOutcome()
  }

  // MARK: Before

  /// What to do with a condition or claim that was added, or with a journal.
  package enum AddAction: Equatable, Sendable {
    case record
    case reject(Mistake)
  }

  /// A condition or claim was added.
  package func conditionAdded() -> AddAction {
    if isCancelled || phase == .notSubmitted { return .record }
    return .reject(.conditionAddedLate(state))
  }

  /// The operation was given a journal.
  ///
  /// Even a cancelled operation accepts none once it was submitted, because it may be idle, and then
  /// nothing would release the journal.
  ///
  /// - Parameter isFirst: Whether it has no journal yet.
  /// - Returns: What to do.
  package func journalAttached(isFirst: Bool) -> AddAction {
    if isSubmitted { return .reject(.journalAttachedLate(state)) }
    return isFirst ? .record : .reject(.journalAttachedAgain)
  }

  /// A queue took the operation in.
  package mutating func enqueued() {
    if phase == .notSubmitted { phase = .pending }
  }

  /// What to do when the program calls `start()`.
  package enum ManualStartAction: Equatable, Sendable {
    /// Add it to a queue of its own, which evaluates conditions and acquires claims.
    case enqueue
    /// Run it on the caller's thread.
    case run
    /// It has finished.
    case ignore
    case reject(Mistake)
  }

  /// The program called `start()`.
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

  /// What to do when the last dependency has finished.
  package enum DependenciesAction: Equatable, Sendable {
    case evaluate
    case none
  }

  /// The last dependency finished, and there are conditions.
  package mutating func dependenciesFinished() -> DependenciesAction {
    // Cancelled while the event was on its way.
    if isCancelled { return .none }
    switch phase {
    // A manual start has entered the second state already. The queue says this once.
    case .notSubmitted, .pending, .evaluatingConditions:
      phase = .evaluatingConditions
      return .evaluate
    case .ready, .executing, .awaitingChildren, .notifyingWillFinish, .notifyingDidFinish,
      .finished:
      return .none
    }
  }

  /// What a journal, or all conditions together, say.
  package enum Verdict: Sendable {
    case satisfied
    /// It has been done before, and succeeds without executing.
    case valueKnown
    case skipped(reason: String)
    case failed([Element])

    /// What several answers come to: a failure wins over a skip.
    init(failures: [Element], skipReason: String?) {
      if !failures.isEmpty {
        self = .failed(failures)
      } else {
        self = skipReason.map { .skipped(reason: $0) } ?? .satisfied
      }
    }
  }

  /// Whether it has succeeded without executing, because its value was known.
  package var endedWithKnownValue: Bool { isMarked && outcome?.isSuccess == true }

  /// What to do with a verdict.
  package enum VerdictAction: Equatable, Sendable {
    /// Ready: it may start, ahead of others when it won't execute.
    case becomeReady(isMarked: Bool)
    /// Cancelled meanwhile.
    case ignore
  }

  /// All conditions answered.
  package mutating func verdictsArrived(_ verdict: Verdict) -> VerdictAction {
    switch phase {
    case .evaluatingConditions:
      phase = .ready
      mark(verdict)
      return .becomeReady(isMarked: isMarked)
    case .notSubmitted, .pending: trap("conditions answered before they were asked")
    case .ready, .executing, .awaitingChildren, .notifyingWillFinish, .notifyingDidFinish,
      .finished:
      return .ignore
    }
  }

  /// Conditions don't hold, whatever the dependencies come to that have not finished.
  package mutating func decidedEarly(_ verdict: Verdict) -> VerdictAction {
    guard phase == .pending, !isCancelled else { return .ignore }
    phase = .ready
    mark(verdict)
    return .becomeReady(isMarked: isMarked)
  }

  /// A condition was evaluated again after a wait, or a claim was refused.
  package mutating func reviewed(_ verdict: Verdict) -> VerdictAction {
    switch phase {
    case .notSubmitted, .pending, .ready:
      guard !isCancelled else { return .ignore }
      mark(verdict)
      return .becomeReady(isMarked: isMarked)
    case .evaluatingConditions: trap("a claim was asked for while conditions were evaluated")
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

  /// Whether the operation begins to execute if its turn comes now.
  package var mayStart: Bool {
    switch state {
    case .pending, .ready: !isCancelled && !isMarked
    case .evaluatingConditions, .executing, .finishing, .finished: false
    }
  }

  /// What to do when its turn came.
  package enum TurnAction: Equatable, Sendable {
    /// Look again with ``launchDue()``, right before did-start is delivered.
    case begin
    /// Its end is decided; it does not execute.
    case decided
    case reject(Mistake)
  }

  /// The operation was started by its queue, or manually with nothing to evaluate.
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

  /// What to do before did-start is delivered.
  package enum LaunchAction: Equatable, Sendable {
    /// Deliver did-start, then call `execute()` if ``isBodyDue``; ``bodyEnded()`` follows.
    case execute
    /// Cancelled in between: its end is decided, and it does not start.
    case decided
    /// Ended in between.
    case none
  }

  /// Did-start is about to be delivered: whether the operation starts is decided here.
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
    case .pending, .evaluatingConditions, .ready: trap("did-start is due in \(state)")
    }
  }

  /// Whether `execute()` is called after did-start was delivered: a cancel in between arrives in
  /// the body, but a `finish` has ended the operation.
  package var isBodyDue: Bool { state == .executing || isCancelled }

  /// A body begins that goes on after `execute()` returned, in a task of its own or as children.
  ///
  /// - Parameter isOnStack: Whether it begins on the stack of `execute()`, and may end there;
  ///   ``bodyLeftStack()`` follows.
  package mutating func bodyBegan(isOnStack: Bool = false) {
    bodies += 1
    if !isOnStack { isHeldUntilIdle = true }
  }

  /// A body that began on the stack of `execute()` leaves that.
  ///
  /// - Returns: Whether it goes on, and slot and membership are held for it.
  package mutating func bodyLeftStack() -> Bool {
    guard bodies > 1 else { return false }
    isHeldUntilIdle = true
    return true
  }

  /// The body will run on another thread than the one that starts the operation.
  package mutating func bodySent() { isHeldUntilIdle = true }

  /// A body ended.
  ///
  /// - Returns: Whether the operation is quiet now.
  package mutating func bodyEnded() -> Bool {
    bodies -= 1
    return bodies == 0 && phase == .finished
  }

  // MARK: Ending

  /// What to do with a `finish`.
  package enum DecideAction: Equatable, Sendable {
    /// The end is decided: deliver will-finish and did-finish.
    case decided
    /// It was decided before, or the operation was cancelled before it executed.
    case ignore
    case reject(Mistake)
  }

  /// `finish` was called, with errors of the body or of children, or with an ``OperationSkipped``.
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

  /// Keeps errors that belong to the end before that is decided; does nothing afterwards.
  package mutating func record(_ errors: [Element], notRunCount: Int) {
    guard phase == .executing else { return }
    if !errors.isEmpty { recordOwn(errors) }
    notRun = Int32(clamping: self.notRunCount + notRunCount)
  }

  /// Keeps what the body threw: a skip is no error, nor is the answer to a cancel.
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

  /// A cancel wins over errors, and errors win over a skip.
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

  /// Will-finish was delivered.
  package mutating func willFinishNotified() {
    guard phase == .notifyingWillFinish else {
      trap("will-finish was notified in the state \(state)")
    }
    phase = .notifyingDidFinish
  }

  /// Did-finish was delivered.
  ///
  /// Reporting the end to dependents and waiters counts as a body, so that nothing is given back
  /// before that was done; ``bodyEnded()`` follows.
  ///
  /// - Parameter isInBody: Whether a body goes on until that was done, so that it needn't be
  ///   counted.
  package mutating func didFinishNotified(isInBody: Bool = false) {
    guard phase == .notifyingDidFinish else {
      trap("did-finish was notified in the state \(state)")
    }
    phase = .finished
    if !isInBody { bodies += 1 }
  }

  /// Whether `produce` may add an operation now.
  package var mayProduce: Bool {
    switch phase {
    case .executing, .awaitingChildren, .notifyingWillFinish: true
    case .notSubmitted, .pending, .evaluatingConditions, .ready, .notifyingDidFinish, .finished:
      false
    }
  }

  // MARK: Cancelling

  /// What to do with a `cancel`.
  package enum CancelAction: Equatable, Sendable {
    /// The end was decided before, or a time limit passes that comes after a cancel.
    case ignore
    /// Cancelled before; the reason was recorded.
    case recorded
    /// Deliver did-cancel; the start finds the flag.
    case flag
    /// Deliver did-cancel, drop conditions, dependencies and claims, and have its queue let it
    /// leave.
    case leaveQueue
    /// Deliver did-cancel; its end is decided.
    case decided
    /// Deliver did-cancel, cancel its task and call the hook; it finishes when its body ends.
    case stopBody
  }

  /// `cancel` was called.
  ///
  /// - Parameters:
  ///   - reason: What was given as the reason, if anything.
  ///   - policy: What a cancel does to an executing operation.
  ///   - isFromParent: Whether it comes from what the operation is a child of.
  /// - Returns: What to do.
  package mutating func cancelCalled(
    reason: Element?,
    policy: AdvancedOperation.CancellationPolicy,
    isFromParent: Bool = false
  ) -> CancelAction {
    if isEndDecided { return .ignore }
    // A time limit that passes while it is being stopped says nothing about why.
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
