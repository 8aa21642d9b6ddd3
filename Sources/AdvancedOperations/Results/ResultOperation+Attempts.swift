import CoreOperations

extension ResultOperation {
  /// Whether nothing will come of another attempt or round.
  final var isOver: Bool { isCancelled || outcome != nil }

  // MARK: Attempts

  /// Makes attempts until one gives a value or the policy gives up.
  ///
  /// - Parameters:
  ///   - policy: Whether and when another attempt follows a failed one.
  ///   - attempt: Makes one; gets its number and time limit.
  /// - Returns: The value.
  /// - Throws: ``BodyFailure``, and what an attempt throws.
  final func attempts(
    _ policy: RetryPolicy,
    _ attempt: (Int, RetryRun.Limit?) async throws -> Result<Output, BodyFailure>
  ) async throws -> Output {
    let clock = environment.clock
    let begin = clock.now
    var run = RetryRun(policy, now: begin)
    run.earn(at: begin, on: clock)
    while true {
      switch try await attempt(run.number, run.limit(now: clock.now)) {
      case .success(let output): return output
      case .failure(let failed):
        // That there is nothing to do is no failed attempt.
        let skips = failed.elements.filter { $0.skipReasonOfBody != nil }
        if !skips.isEmpty { throw BodyFailure(elements: skips) }
        run.record(failed.elements)
        guard await retries(&run, after: failed.own) else {
          throw BodyFailure(elements: run.elements)
        }
      }
    }
  }

  /// Asks the policy about an attempt that failed, notifies observers, and waits for the next one.
  ///
  /// - Parameters:
  ///   - run: Knows of the attempt; gets what keeps the next one from beginning.
  ///   - failures: What went wrong in it.
  /// - Returns: Whether there is to be another attempt, now.
  private func retries(
    _ run: inout RetryRun,
    after failures: [OperationFailure.Element]
  ) async -> Bool {
    if isOver { return false }
    let environment = environment
    let now = environment.clock.now
    switch run.next(after: failures, now: now, random: environment.random) {
    case .giveUp: return false
    case .attempt(let time):
      guard run.spend(at: now, on: environment.clock) else { return false }
      var begins = false
      defer { if !begins { run.giveBack(spentAt: now, on: environment.clock) } }
      let number = run.number
      let error = RetryRun.error(of: failures)
      willRetry(OperationRetry(nextAttempt: number, delay: time - now, error: error))
      let reason = OperationPause.Reason.failedAttempt(number - 1, failures)
      let isDue =
        run.releasesSlot
        ? await release(until: time, after: reason, in: &run)
        : await pause(until: time, after: reason)
      guard isDue else { return false }
      // A pause may end late, because the machine has slept or slot and claims were busy.
      if let limit = run.totalLimit, environment.clock.now >= limit.time {
        run.attemptRefused(because: limit.element)
        return false
      }
      withCore { $0.makeExtra().attempt = number }
      begins = true
      run.attemptBegins(at: environment.clock.now)
      noteProgress()
      return true
    }
  }

  /// Waits between two attempts or rounds; returns whether there is to be another one.
  final func pause(until end: Duration, after reason: OperationPause.Reason) async -> Bool {
    let clock = environment.clock
    let begin = clock.now
    guard end > begin else { return !isOver }
    return await during(OperationPause(reason: reason, begin: begin, end: end)) {
      (try? await clock.sleep(until: end)) != nil
    }
  }

  /// Keeps a pause while a wait goes on, so that an end ends it (see ``outcomeTakesEffect()``).
  ///
  /// - Returns: Whether the wait returned true, and the operation goes on.
  private func during(_ pause: OperationPause, _ wait: () async -> Bool) async -> Bool {
    // An end that is decided before this is seen here; one that is decided later ends the wait.
    withWork { $0.pause = pause }
    measuresProgress(false)
    defer {
      measuresProgress(true)
      // What it holds is released without the lock.
      let over = withWork { $0.pause.take() }
      withExtendedLifetime(over) {}
    }
    if isOver { return false }
    return await wait() && !isOver
  }

  /// Waits between two attempts without slot and claims, and takes both again.
  ///
  /// - Parameters:
  ///   - end: When the next attempt is due.
  ///   - reason: Why the operation waits.
  ///   - run: Gets what keeps the attempt from beginning.
  /// - Returns: Whether the next attempt begins now.
  private func release(
    until end: Duration,
    after reason: OperationPause.Reason,
    in run: inout RetryRun
  ) async -> Bool {
    let clock = environment.clock
    let limit = run.totalLimit
    let turn = AttemptTurn()
    var refusal: OperationFailure.Element?
    let begins = await during(
      OperationPause(reason: reason, begin: clock.now, end: end, turn: turn)
    ) {
      giveBackForPause()
      if end > clock.now, (try? await clock.sleep(until: end)) == nil { return false }
      let timer = limit.map { limit in
        clock.schedule(at: limit.time) { self.abandonAttempt(because: limit.element) }
      }
      defer { timer?.cancel() }
      switch await turn.outcome(wanting: { self.wantTurn() }) {
      case .begun: return true
      case .abandoned(let element):
        refusal = element
        return false
      }
    }
    if let refusal { run.attemptRefused(because: refusal) }
    return begins
  }

  /// Runs the body for one attempt, which a time limit cancels.
  final func attempt(
    until limit: RetryRun.Limit?,
    _ body: @escaping @Sendable () async throws -> Output
  ) async -> Result<Output, BodyFailure> {
    guard let limit else {
      do { return .success(try await body()) } catch {
        return .failure(BodyFailure(elements: [.init(origin: .body, error: error)]))
      }
    }
    // A task of its own, to be cancelled without the others.
    let environment = environment
    let task = Task(executorPreference: environment.bodyExecutor) {
      try await TaskContext.with(self) { try await body() }
    }
    let isLate = Locked(false)
    let timer = environment.clock.schedule(at: limit.time) {
      isLate.withLock { $0 = true }
      task.cancel()
    }
    defer { timer.cancel() }
    return await withTaskCancellationHandler {
      do { return .success(try await task.value) } catch {
        var elements: [OperationFailure.Element] = []
        let isLate = isLate.withLock { $0 }
        if isLate { elements.append(limit.element) }
        // That is how a body answers to its cancel.
        if !(isLate && error is CancellationError) {
          elements.append(.init(origin: .body, error: error))
        }
        return .failure(BodyFailure(elements: elements))
      }
    } onCancel: {
      task.cancel()
    }
  }
}
