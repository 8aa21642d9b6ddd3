import CoreOperations

extension Operation {
  typealias Cause = OperationExplanation.Cause

  /// The direct reasons why this operation waits or is still executing.
  final func findings() -> [Finding] {
    if let advanced = self as? AdvancedOperation { return advanced.advancedFindings() }
    if hasUnreportedEnd {
      return [
        finding(
          .finishNotCalled,
          "returns true from isFinished, but hasn't reported the change",
          remedy: { "\($0) has to call willChangeValue and didChangeValue for “isFinished”" }
        )
      ]
    }
    if isFinished {
      var finding = finding(.finished, "has finished\(self.endInWords)")
      finding.wordsWithoutErrors = { self.isCancelled ? "has finished: cancelled" : "has finished" }
      finding.isOver = true
      return [finding]
    }
    let waits = currentWaits
    return waits.isEmpty ? [plainExecutingFinding] : waits.map { finding($0) }
  }

  /// The finding for an operation without a known wait.
  private final var plainExecutingFinding: Finding {
    if executesAsyncClosure {
      let remedy = { (name: String) in "\(name) has to finish\(AdvancedOperation.hintOfAsyncBody)" }
      var finding = finding(.executing, "is executing its async closure", remedy: remedy)
      finding.ending = textOfSlot
      return finding
    }
    let remedy = { (name: String) in "\(name) has to finish" }
    guard let call = callWithoutEnd else {
      let text = isExecuting ? "is executing" : "is in its start()"
      return finding(.executing, text, remedy: remedy)
    }
    if isExecuting {
      return finding(.executing, "is executing (its \(call) has returned)", remedy: remedy)
    }
    return finding(
      .finishNotCalled,
      "has returned from \(call), and no end was reported: isFinished is false",
      remedy: { "isFinished of \($0) has to turn true, and the change to be reported" }
    )
  }

  /// The remark that the body runs without its slot, as the end of a sentence.
  fileprivate final var textOfSlot: String { hasReleasedSlot ? ", with its slot released" : "" }

  /// The text about the end of an operation that doesn't have an outcome.
  final var endInWords: String {
    let reason = cancellationReason.map { ": \($0.inOneLine)" } ?? ""
    return isCancelled ? ": cancelled\(reason)" : ""
  }

  /// Creates a finding about this operation.
  ///
  /// The words are evaluated when they are needed.
  final func finding(
    _ kind: Cause.Kind,
    _ words: @autoclosure @escaping () -> String,
    remedy: ((_ name: String) -> String)? = nil,
    for duration: Duration? = nil,
    about requirement: String? = nil,
    next: [Operation] = []
  ) -> Finding {
    Finding(
      operation: self,
      kind: kind,
      words: words,
      remedy: remedy,
      duration: duration,
      requirement: requirement,
      next: next
    )
  }
}

extension AdvancedOperation {
  /// A snapshot of the operation, taken under its lock in one step, with the time of the snapshot.
  private struct Look {
    let state: State
    let machine: OperationStateMachine
    let hasClaims: Bool
    let times: StateTimes
    let openConditions: [any OperationCondition]
    /// The waits of the task that evaluates the conditions.
    let conditionWaits: [ConditionWait]
    /// The time since the last progress; nil if it isn't measured.
    let idleTime: Duration?
    let attemptBegin: Duration?
    let now: Duration

    /// The duration of an activity that began at a time; nil if the time isn't known.
    func duration(since begin: Duration?) -> Duration? {
      begin.map { max(now.saturatingSubtracting($0), .zero) }
    }

    /// The duration from the snapshot to a later time.
    func left(until end: Duration) -> Duration { max(end.saturatingSubtracting(now), .zero) }
  }

  private final func look() -> Look {
    let (state, now) = (state, environment.clock.now)
    return withCore { core in
      Look(
        state: max(state, core.machine.state),
        machine: core.machine,
        hasClaims: !core.claims.isEmpty || core.hasPatients,
        times: core.extra?.stateTimes ?? StateTimes(),
        openConditions: (core.extra?.openConditions ?? [])
          .filter { core.conditions.indices.contains($0) }.map { core.conditions[$0] },
        conditionWaits: core.hasPatients ? core.extra?.evaluation.waits ?? [] : [],
        idleTime: core.extra?.stallWatch?.idleTime(at: now),
        attemptBegin: core.extra?.attemptBegin,
        now: now
      )
    }
  }

  fileprivate final func advancedFindings() -> [Finding] {
    let look = look()
    switch look.state {
    case .finished:
      let outcome = outcome
      func findings(
        _ ending: String,
        isOver: Bool = false,
        next: [Operation] = []
      ) -> [Finding] {
        func text(_ end: String) -> String {
          "has finished\(remarkOfEnd): \(end)\(textOfSource)\(ending)"
        }
        var finding = finding(.finished, text(outcome?.inOneLine ?? "finished"), next: next)
        finding.wordsWithoutErrors = { text(outcome?.kind.rawValue ?? "finished") }
        finding.isOver = isOver
        return [finding]
      }
      if !look.machine.hasBody { return findings("", isOver: true) }
      if isUndoing { return findings("; what its children did is being undone") }
      return findings("; its body keeps running", next: childRunner?.openChildren ?? [])
    case .finishing:
      let waits = layerWaits(.execution)
      if !waits.isEmpty, outcome == nil { return waits.map { finding($0) } }
      if isUndoing { return [undoingFinding(.finishing)] }
      return [finding(.finishing, "is notifying observers of its end")]
    case .executing: return executingFindings(look)
    case .evaluatingConditions: return conditionFindings(look) + queueFindings(look)
    case .pending, .ready: return queueFindings(look)
    }
  }

  /// A remark about an operation that never executed, unless its outcome implies that.
  final var remarkOfEnd: String {
    guard let outcome, outcome.failure != nil, !hasStarted else { return "" }
    return " without having run"
  }

  /// The source of the value if it isn't the body, as the end of a sentence.
  final var textOfSource: String { isFromJournal ? ", with the value from its journal" : "" }

  private func journalFinding(_ text: String, for duration: Duration? = nil) -> Finding {
    finding(.journal, text, remedy: { "the journal of \($0) has to answer" }, for: duration)
  }

  private func undoingFinding(_ kind: Cause.Kind) -> Finding {
    let text = "is undoing what its children did"
    return finding(kind, text, remedy: { "a rollback of \($0) has to return" })
  }

  private func executingFindings(_ look: Look) -> [Finding] {
    let waits = attemptFindings(look)
    if !waits.isEmpty { return waits }
    if let entry = journalEntry, entry.phase == .recording {
      return [journalFinding("waits for its journal to record “\(entry.key)”")]
    }
    let children = layerWaits(.execution)
    if !children.isEmpty { return children.map { finding($0) } }
    if isUndoing { return [undoingFinding(.executing)] }
    if let pause, pause.end > look.now {
      var finding = finding(.retry, pause.text(at: look.now))
      finding.wordsWithoutErrors = { pause.text(at: look.now, showsErrors: false) }
      finding.duration = look.duration(since: pause.begin)
      finding.isDurationShown = false
      finding.error = pause.error
      return [finding]
    }
    if let end = (self as? DelayOperation)?.end {
      return [finding(.executing, "is a delay that ends in \(look.left(until: end).readable)")]
    }
    let bodyBegin = bodyBegin
    let duration = look.duration(since: look.times.executing ?? bodyBegin)
    if look.machine.hasReturned {
      let call = (self as? any EndsByOwnCall)?.endingCall ?? "finish()"
      let text = "has returned from execute(), and waits for \(call) to be called"
      let remedy = { (name: String) in "\(call) has to be called on \(name)" }
      return [finding(.finishNotCalled, text, remedy: remedy, for: duration)]
    }
    let text = duration == nil ? "is executing" : "has been executing"
    let hint = Self.hint(look, isAsync: bodyBegin != nil)
    let remedy = { (name: String) in "\(name) has to finish\(hint)" }
    var executing = finding(.executing, text, remedy: remedy, for: duration)
    if let time = look.idleTime, time > .zero {
      executing.ending += ", without progress for \(time.readable)"
    }
    executing.ending += textOfSlot
    executing.activeDuration = look.duration(since: look.attemptBegin)
    return [executing]
  }

  /// The waits of the operation's code, or the waits for the slot and the claims of its next attempt.
  private func attemptFindings(_ look: Look) -> [Finding] {
    var findings = turnFindings(look)
    guard let pause, let attempt = pause.nextAttempt, pause.turn != nil, pause.end <= look.now
    else {
      return findings
    }
    if findings.isEmpty { findings = [finding(.worker, "is about to continue")] }
    return findings.map { finding in
      var finding = finding
      finding.ending += ", to begin attempt \(attempt)"
      finding.error = pause.error
      return finding
    }
  }

  /// A hint about waits of the body that the library can't see.
  private static func hint(_ look: Look, isAsync: Bool) -> String {
    guard look.machine.hasBody else { return "" }
    guard isAsync else { return " (its execute() has not returned)" }
    return look.machine.isCancelled
      ? " (its async body ignores the cancel, or waits for something that does)" : hintOfAsyncBody
  }

  fileprivate static var hintOfAsyncBody: String {
    " (its async body may be waiting for a timer, a stream, a continuation or a lock)"
  }

  private func conditionFindings(_ look: Look) -> [Finding] {
    if let entry = journalEntry, entry.phase == .lookingUp {
      let text = "waits for its journal to look up “\(entry.key)”"
      return [journalFinding(text, for: look.duration(since: look.times.evaluating))]
    }
    let waits = layerWaits(.connections).filter(\.isCurrent)
    if !waits.isEmpty { return waits.map { finding($0) } }
    let duration = look.duration(since: look.times.evaluating)
    if look.openConditions.isEmpty {
      return [finding(.condition, "is evaluating its conditions", for: duration)]
    }
    return look.openConditions.flatMap { condition -> [Finding] in
      let changes = look.conditionWaits.isEmpty ? [] : condition.patients.map(\.changes)
      let waits = look.conditionWaits.filter { wait in changes.contains { $0 === wait.changes } }
      if !waits.isEmpty { return waits.map { finding($0.wait(of: self), at: look.now) } }
      let name = condition.name
      let text = "waits for the answer of condition “\(name)”"
      let remedy = { (label: String) in "condition “\(name)” of \(label) has to answer" }
      return [finding(.condition, text, remedy: remedy, for: duration, about: name)]
    }
  }

  /// The findings that keep the operation from starting.
  private func queueFindings(_ look: Look) -> [Finding] {
    let findings = turnFindings(look)
    if !findings.isEmpty { return findings }
    if look.state == .evaluatingConditions { return [] }
    return [finding(.worker, "is about to start")]
  }

  /// The findings about the waits for the queue, a slot and the claims.
  private func turnFindings(_ look: Look) -> [Finding] {
    let duration = look.duration(since: pause?.end ?? look.times.ready ?? look.times.claiming)
    return waitsInDetail.flatMap { wait -> [Finding] in
      if case .enqueueing = wait.kind {
        // The group adds the operation when the group has started.
        let waits = layerWaits(.connections)
        if let parent, !waits.isEmpty, !waits.contains(where: \.isCurrent) {
          return [finding(.worker, "is about to be started by \(parent.label)")]
        }
        return (waits.isEmpty ? [wait] : waits).map { finding($0) }
      }
      if case .readiness = wait.kind, look.hasClaims {
        // The claims have become available, and the queue hasn't checked the operation again yet.
        let text = pause == nil ? "is about to start" : "is about to continue"
        return [finding(.worker, text)]
      }
      return [finding(wait, at: look.now, for: duration)]
    }
  }
}

/// An operation that the program ends with another call than `finish()`, which explanations name.
package protocol EndsByOwnCall: AdvancedOperation {
  /// The call, for example `release()`.
  var endingCall: String { get }
}
