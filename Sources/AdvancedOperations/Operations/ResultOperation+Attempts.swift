import CoreOperations

extension ResultOperation {
  /// Whether nothing will come of another attempt or round.
  final var isOver: Bool { isCancelled || outcome != nil }

  // MARK: Attempts

  /// Runs the body until it returns or the policy gives up.
  ///
  /// - Throws: ``BodyFailure``.
  final func attempts(
    _ policy: RetryPolicy,
    _ body: @escaping @Sendable () async throws -> Output,
    inside interceptors: [InterceptorEntry]
  ) async throws -> Output {
    let clock = environment.clock
    var run = RetryRun(policy, now: clock.now)
    while true {
      let number = run.number
      var whole = body
      if !interceptors.isEmpty {
        whole = { try await self.run(body, attempt: number, inside: interceptors) }
      }
      switch await attempt(whole, until: run.limit(now: clock.now)) {
      case .success(let output): return output
      case .failure(let failed):
        // That there is nothing to do is no failed attempt.
        let skips = failed.elements.filter { $0.skipReasonOfBody != nil }
        if !skips.isEmpty { throw BodyFailure(elements: skips) }
        run.record(failed.elements)
        guard await retries(run, after: failed.elements) else {
          throw BodyFailure(elements: run.elements)
        }
      }
    }
  }

  /// Asks the policy about an attempt that failed, notifies observers, and waits for the next one.
  ///
  /// - Parameters:
  ///   - run: Knows of the attempt.
  ///   - failures: What went wrong in it.
  /// - Returns: Whether there is to be another attempt, now.
  final func retries(
    _ run: RetryRun,
    after failures: [OperationFailure.Element]
  ) async -> Bool {
    if isOver { return false }
    let environment = environment
    let now = environment.clock.now
    switch run.next(after: failures, now: now, random: environment.random) {
    case .giveUp: return false
    case .attempt(let time):
      let number = run.number
      willRetry(number, after: time - now, because: RetryRun.error(of: failures))
      guard await pause(until: time, after: .failedAttempt(number - 1, failures)) else {
        return false
      }
      withCore { $0.makeExtra().attempt = number }
      return true
    }
  }

  /// Waits between two attempts or rounds; returns whether there is to be another one.
  final func pause(until end: Duration, after reason: OperationPause.Reason) async -> Bool {
    let clock = environment.clock
    let begin = clock.now
    guard end > begin else { return !isOver }
    // An end that is decided before this is seen here; one that is decided later ends the wait.
    let pause = OperationPause(reason: reason, begin: begin, end: end)
    work.withLock { $0.pause = pause }
    defer {
      // What it holds is released without the lock.
      let over = work.withLock { $0.pause.take() }
      withExtendedLifetime(over) {}
    }
    if isOver { return false }
    return await (try? clock.sleep(until: end)) != nil && !isOver
  }

  private func attempt(
    _ body: @escaping @Sendable () async throws -> Output,
    until limit: RetryRun.Limit?
  ) async -> Result<Output, BodyFailure> {
    guard let limit else {
      do { return .success(try await body()) } catch {
        return .failure(BodyFailure(elements: [.init(origin: .body, error: error)]))
      }
    }
    // A task of its own, to be cancelled without the others.
    let environment = environment
    let task = Task(executorPreference: environment.bodyExecutor) {
      try await TaskOccupant.with(self) { try await body() }
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

  // MARK: Rounds

  /// Gives the operation what runs the operations that its body makes; once, while initialising.
  final func runsRounds() {
    work.withLock { work in
      let rare = work.rare
      work.rare = .init(
        retry: rare?.retry,
        predecessors: rare?.predecessors ?? [],
        recovers: rare?.recovers ?? false,
        rounds: OperationRounds(),
        journal: rare?.journal
      )
    }
  }

  /// Runs the operations that the body makes; nil where that makes none, and once all is over.
  final var rounds: OperationRounds? { work.withLock { $0.rare?.rounds } }
}
