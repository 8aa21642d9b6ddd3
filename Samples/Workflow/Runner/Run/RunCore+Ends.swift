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
      if let rollback = step.rollback { addRollback(rollback, of: index) }
    case .failed, .skipped: append(.ended(step: step.id, end: end), synced: false)
    // It is as if it had not begun.
    case .cancelled: break
    }
    send(.ended(step: step.id, end))
  }

  // MARK: Rollback

  private func addRollback(_ command: Command, of index: Int) {
    group.onRollback { [weak self] in try await self?.rollBack(index, command) }
  }

  private func rollBack(_ index: Int, _ command: Command) async throws {
    let step = steps[index]
    if state.withLock({ $0.isKilled }) {
      rollbackDropped(step.id)
      throw RunCancelled(reason: "killed")
    }
    // From here on it isn't known for sure what there is.
    do throws(JournalError) {
      try current?.journal.append(.rolledBack(step: step.id), synced: true)
    } catch {
      // The step counts as done for those who read the journal, so what it did has to stay.
      rollbackDropped(step.id)
      journalFailed(error)
      throw error
    }
    state.withLock { $0.undoes(index, .begun) }
    send(.rollingBack(step: step.id))
    do {
      let number = state.withLock { $0.steps[index].attempts }
      let attempt = try makeAttempt(index, command, number)
      let exit = try await logged(index, attempt) { log in
        try await limited(by: step.timeout) { [weak self, engine] in
          try await engine.run(attempt) { report in
            guard let self, case .started(_, let handle) = report else { return }
            if let handle {
              self.append(
                .rollbackStarted(
                  step: step.id,
                  attempt: number,
                  handle: handle,
                  engine: engine.name
                ),
                synced: engine.handlesOutliveMachine
              )
            }
            self.sink.send(log)
          }
        }
      }
      if let error = StepError(exit.status) { throw error }
      state.withLock { $0.undoes(index, .done) }
      send(.rolledBack(step: step.id, error: nil))
    } catch {
      let reason = RunWords.reason(of: error)
      state.withLock { $0.undoes(index, .failed(reason)) }
      send(.rolledBack(step: step.id, error: reason))
      rollbackFailed(step.id, reason)
      throw error
    }
  }

  /// Runs something that is cancelled when it takes too long.
  private func limited(
    by limit: Duration?,
    _ body: @escaping @Sendable () async throws -> StepExit
  ) async throws -> StepExit {
    guard let limit else { return try await body() }
    let clock = environment.clock
    let task = Task(executorPreference: environment.executor as? any TaskExecutor) {
      try await body()
    }
    let timer = clock.schedule(at: clock.now + limit) { task.cancel() }
    defer { timer.cancel() }
    do {
      return try await task.value
    } catch is CancellationError {
      throw OperationTimeout(duration: limit)
    }
  }
}
