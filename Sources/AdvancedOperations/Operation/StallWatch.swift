import CoreOperations

/// When an operation has last progressed, for its time limits without progress.
///
/// A plain value, without a clock. Progress only moves a time: a timer that comes too early is set
/// again.
struct StallWatch {
  /// What a timer does that has come.
  enum Action: Equatable {
    /// The operation has stalled.
    case cancel
    /// There was progress: set the timer again.
    case again
    /// Nothing, at least until the operation goes on.
    case none
  }

  private(set) var lastProgress: Duration
  private var lastUpdate: OperationProgress?
  /// How many waits are going on that aren't measured, and when the first of them began.
  private var pauseCount = 0
  private var pausedAt: Duration?
  /// The limits whose timers have come in such a wait.
  private var waiting: [TimeLimit] = []
  /// Whether nothing is measured any more.
  private var isOver = false

  init(at now: Duration, isPaused: Bool) {
    lastProgress = now
    if isPaused { paused(at: now) }
  }

  /// An attempt begins, or something has progressed.
  mutating func progressed(at now: Duration) { lastProgress = max(lastProgress, now) }

  /// The operation says how far it is.
  ///
  /// - Returns: Whether that is progress.
  mutating func says(_ update: OperationProgress) -> Bool {
    defer { lastUpdate = update }
    return update != lastUpdate
  }

  /// A wait begins that isn't measured.
  mutating func paused(at now: Duration) {
    pauseCount += 1
    pausedAt = pausedAt ?? now
  }

  /// The wait is over.
  ///
  /// - Returns: The limits whose timers are to be set.
  mutating func resumed(at now: Duration) -> [TimeLimit] {
    pauseCount = max(0, pauseCount - 1)
    guard pauseCount == 0, let begin = pausedAt.take() else { return [] }
    // Progress in the wait, such as that of another task, counts as well.
    lastProgress = min(now, lastProgress.saturatingAdding(now - max(begin, lastProgress)))
    return exchange(&waiting, with: [])
  }

  /// The work is over, and is being undone.
  mutating func ended() { isOver = true }

  /// A timer has come.
  ///
  /// - Parameters:
  ///   - limit: The limit of the timer.
  ///   - due: The time for which the timer was set.
  ///   - now: The time at which it came.
  /// - Returns: What to do.
  mutating func timerCame(of limit: TimeLimit, dueAt due: Duration, at now: Duration) -> Action {
    if isOver { return .none }
    if pausedAt != nil {
      waiting.append(limit)
      return .none
    }
    let duration = limit.timeout.duration
    // The machine has slept, and nothing could progress.
    if now - due > duration { lastProgress = now }
    return lastProgress.saturatingAdding(duration) <= now ? .cancel : .again
  }

  /// For how long there was no progress; nil while that isn't measured.
  func idleTime(at now: Duration) -> Duration? {
    isOver || pausedAt != nil ? nil : max(.zero, now - lastProgress)
  }
}

extension AdvancedOperation {
  /// An attempt begins, or a child has ended: limits of the time without progress begin again.
  final func noteProgress() {
    guard withCore({ $0.hasTimers && $0.extra?.stallWatch != nil }) else { return }
    let now = environment.clock.now
    withCore { $0.extra?.stallWatch?.progressed(at: now) }
  }

  /// A wait begins or ends that limits of the time without progress don't measure.
  final func measuresProgress(_ measures: Bool) {
    guard withCore({ $0.hasTimers && $0.extra?.stallWatch != nil }) else { return }
    let now = environment.clock.now
    let limits = withCore { core -> [TimeLimit] in
      if measures { return core.extra?.stallWatch?.resumed(at: now) ?? [] }
      core.extra?.stallWatch?.paused(at: now)
      return []
    }
    for limit in limits { startTimer(of: limit) }
  }
}
