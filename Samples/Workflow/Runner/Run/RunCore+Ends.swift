import AdvancedOperations
import Synchronization
import WorkflowDocument

/// Hears of the end of a step's operation, and of its retries.
struct StepObserver: OperationObserver {
  weak let core: RunCore?
  let index: Int

  func operation(
    _ operation: AdvancedOperation,
    willRetry retry: OperationRetry
  ) { core?.retries(index, after: retry.delay, because: retry.error) }

  func operationDidFinish(_ operation: AdvancedOperation, outcome: OperationOutcome) {
    core?.finished(index, operation)
  }
}

extension RunCore {
  func retries(_ index: Int, after delay: Duration, because error: any Error) {
    let number = state.withLock { state in
      state.attemptFailed(index)
      return state.steps[index].attempts
    }
    append(.attemptFailed(step: steps[index].id, attempt: number), synced: false)
    let reason = secrets.masked(RunWords.reason(of: error))
    send(.retrying(step: steps[index].id, attempt: number, after: delay, because: reason))
    // It has given its slot and its claims to others, and may have to wait for them again.
    _ = environment.clock.schedule(at: environment.clock.now + delay) { [weak self] in
      guard let self, state.withLock({ $0.steps[index].isBetweenAttempts }) else { return }
      waits.isReady(operations[index])
    }
  }

  /// The operation of a step is over; what needs it hasn't started.
  func finished(_ index: Int, _ operation: AdvancedOperation) {
    let now = environment.clock.now
    let known = state.withLock { $0.steps[index] }
    var (end, root) = RunWords.end(
      of: operation,
      known,
      deadline: options.deadline,
      now: now
    )
    if end.outcome == .failed, lacksTime(index, known, operation) {
      let reason = end.reason ?? "failed"
      end.reason = "\(reason); the next attempt would begin after the run's time was over"
    }
    end.reason = end.reason.map(secrets.masked)
    if end.outcome == .skipped, let outputs = earlierOutputs[steps[index].id] {
      end.outputs = outputs
    }
    guard state.withLock({ $0.ended(index, end, because: root) }) else { return }
    waits.leaves(operation)
    gate.passes(index)
    if known.isRecorded { slots.recordingEnds(in: group) }
    let step = steps[index]
    switch end.outcome {
    case .succeeded:
      if let rollback = step.rollback, !end.isFromJournal { addRollback(rollback, of: index) }
    case .failed, .skipped: append(.ended(step: step.id, end: end), synced: false)
    // It is as if it had not begun.
    case .cancelled: break
    }
    send(.ended(step: step.id, end))
  }

  /// Whether a step that failed would be retried if the run had more time.
  private func lacksTime(
    _ index: Int,
    _ known: RunState.StepState,
    _ operation: AdvancedOperation
  ) -> Bool {
    guard options.deadline != nil, known.begin != nil, known.success == nil,
      let retry = steps[index].retry, retry.total == nil,
      operation.outcome?.failure?.first(TemplateError.self) == nil
    else { return false }
    return known.earlierFailures + known.failedAttempts.count + 1 < retry.attempts ?? 1
  }

  // MARK: The end of the run

  /// How the run has ended.
  func summary() -> RunEnd {
    let (rollbacks, notUndone) = problems.withLock { ($0.rollbacks, $0.notUndone) }
    let (ends, failed) = state.withLock { state in
      (state.steps.filter { !$0.isUndone }.map { $0.end?.outcome ?? .cancelled }, state.failed)
    }
    var lines = failed.flatMap { failureLines(of: $0) }
    lines += rollbacks
    lines += state.withLock { state in
      zip(steps, state.steps).compactMap { step, known in
        known.cutLog.map { "\(step.id): \($0)" }
      }
    }
    if let line = RunWords.notUndone(notUndone) { lines.append(line) }
    if let reason = sink.failure { lines.append("\(folder.events) isn't complete: \(reason)") }
    let (cancelled, duration) = (
      ends.count { $0 == .cancelled }, environment.clock.now - (current?.time ?? .zero)
    )
    if cancelled > 0, !failed.isEmpty {
      lines.append(cancelled == 1 ? "1 step was not run" : "\(cancelled) steps were not run")
    }
    return RunEnd(
      succeeded: ends.count { $0 == .succeeded },
      failed: failed.count,
      skipped: ends.count { $0 == .skipped },
      cancelled: cancelled,
      undone: steps.count - ends.count,
      duration: duration,
      failures: secrets.masked(lines.joined(separator: "\n"))
    )
  }

  /// What went wrong with a step: one line, or one for each attempt.
  private func failureLines(of index: Int) -> [String] {
    let known = state.withLock { $0.steps[index] }
    let first = "\(steps[index].id): \(known.end?.reason ?? "failed")"
    guard let failure = operations[index].outcome?.failure, failure.elements.count > 1 else {
      return [first]
    }
    // The operation counts its own attempts; those of earlier processes, and lost ones, count too.
    let elements = failure.elements.map { element in
      guard case .attempt(let number)? = element.origin.path.first else { return element }
      let isLast = number > known.failedAttempts.count
      let attempt = isLast ? known.attempts : known.failedAttempts[number - 1]
      var origin = element.origin
      origin.path[0] = .attempt(attempt)
      return OperationFailure.Element(origin: origin, error: element.error)
    }
    return [first, OperationFailure(elements: elements).indented(by: 1)]
  }
}
