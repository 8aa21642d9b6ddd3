import CoreOperations

extension ResultOperation {
  /// Whether the operation is cancelled or has its outcome, so that another attempt or round is useless.
  final var isOver: Bool { isCancelled || outcome != nil }

  // MARK: Attempts

  /// Makes attempts until one returns a value or the policy gives up.
  ///
  /// - Parameters:
  ///   - policy: Whether and when another attempt follows a failed one.
  ///   - attempt: A closure that makes an attempt, with the number and the time limit of the attempt.
  /// - Returns: The value.
  /// - Throws: ``BodyFailure``, and the errors that an attempt throws.
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
        // An attempt that was skipped isn't a failed attempt, so the policy doesn't decide about it.
        let skips = failed.elements.filter { $0.skipReasonOfBody != nil }
        if !skips.isEmpty { throw BodyFailure(elements: skips) }
        run.record(failed.elements)
        guard await retries(&run, after: failed.own) else {
          throw BodyFailure(elements: run.elements)
        }
      }
    }
  }

  /// Lets the policy decide about a failed attempt, notifies observers, and waits for the next attempt.
  ///
  /// - Parameters:
  ///   - run: The attempts so far. If the next attempt can't begin, its error is added to them.
  ///   - failures: The errors of the attempt.
  /// - Returns: Whether another attempt begins now.
  private func retries(
    _ run: inout RetryRun,
    after failures: [OperationFailure.Element]
  ) async -> Bool {
    if isOver { return false }
    let environment = environment
    let now = environment.clock.now
    let deadline = deadline
    let next = run.next(
      after: failures,
      now: now,
      deadline: deadline,
      random: environment.random
    )
    if let (key, end) = run.hold {
      let reason = "\(RetryRun.error(of: failures).inOneLine) (\(label))"
      environment.claimDomain.hold(rate: key, until: end, on: environment.clock, reason: reason)
    }
    switch next {
    case .giveUp: return false
    case .attempt(let time):
      guard run.spend(at: now, on: environment.clock) else { return false }
      var begins = false
      defer { if !begins { run.giveBack(spentAt: now, on: environment.clock) } }
      let number = run.number
      let error = RetryRun.error(of: failures)
      willRetry(OperationRetry(nextAttempt: number, delay: time - now, error: error))
      let reason = OperationPause.Reason.failedAttempt(number - 1, failures)
      if run.releasesSlot {
        guard await release(until: time, after: reason, in: &run) else { return false }
      } else {
        // The attempt doesn't claim a start, so it waits for the holds of its rates itself.
        var end = time
        repeat {
          guard await pause(until: end, after: reason) else { return false }
          end = endOfHolds
          if let limit = run.totalLimit, end >= limit.time {
            run.attemptRefused(because: limit.element)
            return false
          }
          if let deadline, end >= deadline { return false }
        } while end > environment.clock.now
      }
      await takeSlotForAttempt()
      // A pause may end late, because the machine has slept or slot and claims were busy.
      if let limit = run.totalLimit, environment.clock.now >= limit.time {
        run.attemptRefused(because: limit.element)
        return false
      }
      if isOver { return false }
      let begin = environment.clock.now
      withCore { core in
        let extra = core.makeExtra()
        (extra.attempt, extra.attemptBegin) = (number, begin)
      }
      begins = true
      run.attemptBegins(at: begin)
      noteProgress(ofNewAttempt: true)
      return true
    }
  }

  /// The end of the longest hold of the operation's rates; zero if there is none.
  private var endOfHolds: Duration {
    let rates = claims.filter(\.isRate)
    if rates.isEmpty { return .zero }
    let environment = environment
    return environment.claimDomain.look { $0.holdEnd(of: rates, on: environment.clock) } ?? .zero
  }

  /// Waits between two attempts or rounds.
  ///
  /// Returns whether another one begins.
  final func pause(until end: Duration, after reason: OperationPause.Reason) async -> Bool {
    let clock = environment.clock
    let begin = clock.now
    guard end > begin else { return !isOver }
    return await during(OperationPause(reason: reason, begin: begin, end: end)) {
      (try? await clock.sleep(until: end)) != nil
    }
  }

  /// Stores a pause during a wait, so that an end of the operation ends the wait (see
  /// ``outcomeTakesEffect()``).
  ///
  /// - Returns: Whether the wait returned true and the operation continues.
  private func during(_ pause: OperationPause, _ wait: () async -> Bool) async -> Bool {
    // If the end was decided before this line, `isOver` is true below. A later end cancels the wait.
    withWork { $0.pause = pause }
    measuresProgress(false)
    defer {
      measuresProgress(true)
      // The objects in the pause are released without the lock.
      let over = withWork { $0.pause.take() }
      withExtendedLifetime(over) {}
    }
    if isOver { return false }
    return await wait() && !isOver
  }

  /// Waits between two attempts without slot and claims, and acquires both again.
  ///
  /// - Parameters:
  ///   - end: The time at which the next attempt is due.
  ///   - reason: The reason of the wait.
  ///   - run: The attempts so far. If the next attempt can't begin, its error is added to them.
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

  /// Runs the body for one attempt, and cancels it at its time limit.
  final func attempt(
    until limit: RetryRun.Limit?,
    _ body: @escaping @Sendable () async throws -> Output
  ) async -> Result<Output, BodyFailure> {
    guard let limit else {
      do { return .success(try await body()) } catch {
        return .failure(BodyFailure(elements: [.init(origin: .body, error: error)]))
      }
    }
    // The attempt has a separate task, because its time limit cancels only this attempt.
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
        // After the time limit, a `CancellationError` is only the response of the body to the cancel.
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
