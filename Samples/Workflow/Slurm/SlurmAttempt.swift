import Synchronization
import WorkflowRunner

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// One attempt in Slurm, from its submission to its end, for the runner that waits for it.
///
/// Three tasks look at it: one waits for its end; one reports where it began or what it waits for;
/// and one ends it, if it is cancelled. What they share is under one lock.
final class SlurmAttempt: Sendable {
  private struct State {
    var isCancelled = false
    var isOver = false
    /// Why it is ended although nothing was cancelled: it could never begin.
    var refusal: SlurmError?
    /// What keeps it from being submitted.
    var trouble: String?
    var srun: Task<Int, any Error>?
    /// Whether that `srun` was ended because the controller doesn't have its job.
    var isForgotten = false
  }

  let attempt: StepAttempt
  let place: SlurmPlace
  let request: SlurmRequest
  let commands: SlurmCommands
  let queue: SlurmQueue
  let patience: Duration
  private let report: @Sendable (StepReport) -> Void
  private let state = Mutex(State())

  init(
    _ attempt: StepAttempt,
    at place: SlurmPlace,
    engine: SlurmEngine,
    report: @escaping @Sendable (StepReport) -> Void
  ) {
    self.attempt = attempt
    self.place = place
    request = SlurmRequest(attempt, options: engine.options.arguments)
    commands = engine.commands
    queue = engine.queue
    patience = engine.options.patience
    self.report = report
  }

  /// Waits for the attempt's end by some way, reports what happens on it, and ends the attempt when the
  /// task is cancelled.
  ///
  /// - Parameter work: Waits; it isn't cancelled itself.
  /// - Returns: What it returns.
  /// - Throws: What it throws, why the attempt could never begin, or a `CancellationError`.
  func untilEnd<Value: Sendable>(
    _ work: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    let reporter = Task { await reportProgress() }
    let work = Task { try await work() }
    let result = await withTaskCancellationHandler {
      await work.result
    } onCancel: {
      cancel()
    }
    state.withLock { $0.isOver = true }
    if isStopping { await waitUntilNothingRuns() }
    // It may have a begin to report, and returns.
    reporter.cancel()
    await reporter.value
    if isCancelled { throw CancellationError() }
    if let refusal = state.withLock({ $0.refusal }) { throw refusal }
    return try result.get()
  }

  var isCancelled: Bool { state.withLock { $0.isCancelled } }
  var isOver: Bool { state.withLock { $0.isOver } }
  /// Whether it is being ended.
  var isStopping: Bool { state.withLock { $0.isCancelled || $0.refusal != nil } }

  /// Notes what keeps it from being submitted, or from being known; nil: nothing any more.
  func setTrouble(_ text: String?) { state.withLock { $0.trouble = text } }

  /// Notes the `srun` that runs it.
  func setSrun(_ task: Task<Int, any Error>) { state.withLock { $0.srun = task } }

  /// Notes that the `srun` is ended because the controller doesn't have its job.
  func setForgotten() { state.withLock { $0.isForgotten = true } }

  /// Whether that was noted since it was called before.
  func takeForgotten() -> Bool {
    state.withLock { state in
      defer { state.isForgotten = false }
      return state.isForgotten
    }
  }

  /// Sleeps, but not long after it is to be ended.
  func pause(_ duration: Duration) async throws {
    let end = ContinuousClock.now + duration
    while !isStopping, case let rest = ContinuousClock.now.duration(to: end), rest > .zero {
      try await Task.sleep(for: min(rest, .milliseconds(100)))
    }
  }

  private func cancel() {
    let isFirst = state.withLock { state in
      let isFirst = !state.isCancelled && state.refusal == nil
      state.isCancelled = true
      return isFirst
    }
    if isFirst { Task { await endUntilOver() } }
  }

  private func refuse(_ error: SlurmError) {
    let isFirst = state.withLock { state in
      guard !state.isCancelled, state.refusal == nil else { return false }
      state.refusal = error
      return true
    }
    if isFirst { Task { await endUntilOver() } }
  }
}

// MARK: - Reporting

extension SlurmAttempt {
  /// The only one that reports, so that reports come in order.
  private func reportProgress() async {
    var isStarted = false
    var waiting: String?
    var nextQuestion = ContinuousClock.now + .milliseconds(300)
    var interval = Duration.milliseconds(10)
    while true {
      let isLast = Task.isCancelled
      if !isStarted, let start = place.start {
        isStarted = true
        report(.started(node: start.node, handle: "\(start.job) \(place.path)"))
        waiting = nil
      }
      if isLast {
        if let time = place.executionTime { report(.ran(for: time)) }
        return
      }
      if !isStarted || state.withLock({ $0.trouble != nil }), ContinuousClock.now >= nextQuestion {
        nextQuestion = .now + .seconds(1)
        let text = await whatItWaitsFor(isStarted: isStarted)
        if text != waiting { report(.waiting(for: text)) }
        waiting = text
      }
      try? await Task.sleep(for: interval)
      interval = min(interval * 5 / 4, .milliseconds(100))
    }
  }

  private func whatItWaitsFor(isStarted: Bool) async -> String? {
    if let trouble = state.withLock({ $0.trouble }) { return trouble }
    guard !isStarted, !isStopping,
      let job = try? await queue.jobs(notOlderThan: .now - .milliseconds(500)).last(
        where: place.isMine
      ),
      job.phase == .pending
    else { return nil }
    if job.cannotBegin {
      refuse(.refused(message: job.reason, request: request.description))
    }
    return job.waitsFor
  }
}

// MARK: - Ending

extension SlurmAttempt {
  /// Asks the attempt to end, and kills it after its grace period; does either again as long as it
  /// is there, since the controller may not have answered.
  private func endUntilOver() async {
    if place.preventBeginning() {
      // Whenever Slurm begins it, it ends at once.
      state.withLock { $0.srun }?.cancel()
      while !isOver {
        if let job = await job() { await scancel([job.id]) }
        try? await Task.sleep(for: .milliseconds(500))
      }
      return
    }
    let deadline = ContinuousClock.now + attempt.gracePeriod
    var isAsked = false
    while !isOver {
      if let job = place.start?.job {
        if ContinuousClock.now >= deadline {
          // The step is killed at once, a job only after the time that the cluster gives it.
          await scancel(["--signal=KILL", job + ".0"])
          if !isOver { await scancel([job]) }
        } else if !isAsked {
          isAsked = await scancel(["--signal=TERM", job])
        }
      }
      let rest = ContinuousClock.now.duration(to: deadline)
      try? await Task.sleep(for: rest > .zero ? min(rest, .milliseconds(100)) : .seconds(1))
    }
  }

  /// Waits until Slurm has ended what the attempt left.
  func waitUntilNothingRuns() async {
    for _ in 0..<100 {
      guard let job = await job() else { return }
      if job.phase != .active && job.phase != .pending { return }
      try? await Task.sleep(for: .milliseconds(100))
    }
  }

  private func job() async -> SlurmJob? {
    try? await queue.jobs(notOlderThan: .now).last(where: place.isMine)
  }

  @discardableResult
  private func scancel(_ arguments: [String]) async -> Bool {
    (try? await commands.run("scancel", arguments))?.code == 0
  }
}
