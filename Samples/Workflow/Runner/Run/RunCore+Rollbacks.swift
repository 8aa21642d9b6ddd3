import AdvancedOperations
import Synchronization
import WorkflowDocument

/// What earlier processes have begun to undo, and not ended.
struct LeftRollbacks {
  /// In the order in which they were begun.
  var rollbacks: [RunProgress.UnfinishedRollback] = []
  /// What steps gave then.
  var outputs: [String: [String: String]] = [:]
}

/// What undoes steps.
///
/// The journal says that it begins before it does, and what came of it: a step whose rollback has
/// begun doesn't run again before its rollback has ended well, in this process or a later one.
extension RunCore {
  /// Has the steps undone that earlier processes have finished if this one is cancelled or fails.
  ///
  /// All of them, in the order in which they ended: those that this process has not come to yet are
  /// made of the others. A run of which nothing is left to do is over, and none is undone.
  ///
  /// - Parameter done: The steps, in that order.
  func addRollbacks(ofDone done: [String]) {
    let (places, ends) = state.withLock { state in
      (done.compactMap { state.place(of: $0) }, state.steps.map(\.success?.outcome))
    }
    if places.count == steps.count { return }
    // One that was skipped has done nothing.
    for index in places where ends[index] == .succeeded {
      if let rollback = steps[index].rollback { addRollback(rollback, of: index) }
    }
  }

  func addRollback(_ command: Command, of index: Int) {
    group.onRollback { [weak self] in try await self?.rollBack(index, command) }
  }

  private func rollBack(_ index: Int, _ command: Command) async throws {
    let step = steps[index]
    if state.withLock({ $0.isKilled }) {
      rollbackDropped(step.id)
      throw RunCancelled(reason: "killed")
    }
    // From here on it isn't known for sure what there is.
    if let outputs = try? guardedOutputs(of: index) { try? unfinished.insert(outputs) }
    do throws(JournalError) {
      try current?.journal.append(.rollbackBegun(step: step.id), synced: true)
    } catch {
      // The step counts as done for those who read the journal, so what it did has to stay.
      rollbackDropped(step.id)
      journalFailed(error)
      throw error
    }
    do {
      try await undo(index) { [weak self] in
        guard let self else { throw CancellationError() }
        let number = state.withLock { $0.steps[index].attempts }
        return try await runRollback(index, try makeRollback(index, command, number))
      }
    } catch {
      rollbackFailed(step.id, RunWords.reason(of: error))
      throw error
    }
  }

  /// Undoes a step, and writes down what came of it.
  private func undo(
    _ index: Int,
    _ command: @escaping @Sendable () async throws -> StepExit
  ) async throws {
    let step = steps[index].id
    state.withLock { $0.undoes(index, .begun) }
    send(.rollingBack(step: step))
    // An operation, so that pictures have it.
    let operation = ResultOperation(name: "undo \(step)") { try await command() }
    operation.addObserver(recorder)
    let queue = AdvancedOperationQueue(name: "rollbacks", environment: environment)
    do {
      if let error = StepError(try await queue.run(operation).status) { throw error }
      append(.rolledBack(step: step), synced: true)
      state.withLock { $0.undoes(index, .done) }
      send(.rolledBack(step: step, error: nil))
    } catch {
      let reason = secrets.masked(RunWords.reason(of: error))
      // What was killed has not failed.
      if !state.withLock({ $0.isKilled }) {
        append(.rollbackFailed(step: step, reason: reason), synced: true)
      }
      state.withLock { $0.undoes(index, .failed(reason)) }
      send(.rolledBack(step: step, error: reason))
      throw error
    }
  }

  /// What undoes a step: it may have what the step gave, by the name that the file has for the step.
  private func makeRollback(
    _ index: Int,
    _ command: Command,
    _ number: Int,
    _ outputs: [String: [String: String]]? = nil
  ) throws(TemplateError) -> StepAttempt {
    var outputs = outputs ?? state.withLock { $0.outputs }
    let step = steps[index]
    // Of a combination: the others have the same name in the file.
    outputs[step.base] = outputs[step.id]
    return try makeAttempt(index, command, number, outputs: outputs)
  }

  private func runRollback(_ index: Int, _ attempt: StepAttempt) async throws -> StepExit {
    let step = steps[index]
    // Also where the step has printed nothing: what follows isn't what it printed.
    write("rollback", to: attempt, isFirst: true)
    return try await logged(index, attempt) { log in
      try await limited(by: step.timeout) { [weak self, engine] in
        try await engine.run(attempt) { report in
          guard let self, case .started(_, let handle) = report else { return }
          if let handle {
            self.append(
              .rollbackStarted(
                step: step.id,
                attempt: attempt.number,
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

  // MARK: Of earlier processes

  /// Ends what earlier processes have begun to undo, before any step begins; if that fails, none
  /// does, unless it is accepted.
  func finishRollbacks() async {
    let left = left.withLock { $0 }
    for rollback in left.rollbacks {
      // The next process goes on with it.
      if state.withLock({ $0.isKilled }) { return }
      guard let index = state.withLock({ $0.place(of: rollback.step) }) else {
        let isKnown = workflow.steps.contains { $0.id == rollback.step }
        accept(
          isKnown ? "--only leaves it out" : "the file has no such step any more that says how",
          rollback.step
        )
        continue
      }
      do {
        try await finish(rollback, index, left.outputs)
      } catch {
        if state.withLock({ $0.isKilled }) { return }
        accept(RunWords.reason(of: error), steps[index].id)
      }
      // It is to run again.
      state.withLock { $0.undoes(index, nil) }
    }
  }

  private func finish(
    _ rollback: RunProgress.UnfinishedRollback,
    _ index: Int,
    _ outputs: [String: [String: String]]
  ) async throws {
    guard let command = steps[index].rollback else {
      // The file says by now that there is nothing to undo.
      return append(.rolledBack(step: rollback.step), synced: true)
    }
    try await undo(index) { [weak self] in
      guard let self else { throw CancellationError() }
      let number = rollback.open?.number ?? state.withLock { $0.steps[index].attempts }
      let attempt = try makeRollback(index, command, number, outputs)
      try folder.makeParts()
      if let handle = rollback.open?.handle {
        let exit = try await engine.takeUp(attempt, handle: handle, report: report(waitsOf: index))
        if let exit { return exit }
      }
      return try await runRollback(index, attempt)
    }
  }

  /// Tells what a step waits for, and nothing else.
  func report(waitsOf index: Int) -> @Sendable (StepReport) -> Void {
    let report = report(index)
    return { news in
      if case .waiting = news { report(news) }
    }
  }

  /// A step couldn't be undone again: it runs as things are, or nothing does.
  private func accept(_ reason: String, _ step: String) {
    if options.acceptsFailedRollbacks {
      append(.rolledBack(step: step), synced: true)
      send(.notice(step: step, "the run continues although it could not be undone: \(reason)"))
    } else {
      let log = folder.logFile(of: step)
      rollbackFailed(
        step,
        "\(reason) (\(log)); nothing runs before it has been undone: resume again when the cause is "
          + "gone, or with --accept-failed-rollbacks when you have undone it manually"
      )
      cancel(because: "“\(step)” could not be undone")
    }
  }
}
