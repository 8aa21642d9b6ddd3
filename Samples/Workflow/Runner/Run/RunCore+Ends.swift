import AdvancedOperations
import Synchronization
import WorkflowDocument

/// Hears of the end of a step's operation, and of its retries.
struct StepObserver: OperationObserver {
  weak let core: RunCore?
  let index: Int

  func operation(
    _ operation: AdvancedOperation,
    willRetryAsAttempt attempt: Int,
    after delay: Duration,
    because error: any Error
  ) { core?.retries(index, after: delay, because: error) }

  func operationDidFinish(_ operation: AdvancedOperation, errors: [any Error]) {
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
    let reason = RunWords.reason(of: error)
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
    let (end, root) = RunWords.end(of: operation, known, now: now)
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
}
