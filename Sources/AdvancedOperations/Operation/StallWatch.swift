import CoreOperations

/// The time of an operation's last progress, for its time limits without progress.
///
/// A plain value, without a clock. Progress only changes a time: if a timer fires too early, it is set again.
struct StallWatch {
  /// The action of a timer that has fired.
  enum Action: Equatable {
    /// The operation has stalled.
    case cancel
    /// There was progress, and the timer has to be set again.
    case again
    /// The timer does nothing, at least until the operation resumes.
    case none
  }

  private(set) var lastProgress: Duration
  private var lastUpdate: OperationProgress?
  /// The number of current waits that aren't measured.
  ///
  /// `pausedAt` is the beginning of the first of them.
  private var pauseCount = 0
  private var pausedAt: Duration?
  /// The limits whose timers have fired during such a wait.
  private var waiting: [TimeLimit] = []
  /// Whether the measurement has ended.
  private var isOver = false

  init(at now: Duration, isPaused: Bool) {
    lastProgress = now
    if isPaused { paused(at: now) }
  }

  /// The operation or a child has progressed.
  mutating func progressed(at now: Duration) { lastProgress = max(lastProgress, now) }

  /// An attempt begins, whose reports are compared with each other only.
  mutating func attemptBegan(at now: Duration) {
    progressed(at: now)
    lastUpdate = nil
  }

  /// The operation reports its progress.
  ///
  /// - Returns: Whether the report differs from the last one.
  mutating func says(_ update: OperationProgress) -> Bool {
    defer { lastUpdate = update }
    return update != lastUpdate
  }

  /// The operation begins a wait that isn't measured.
  mutating func paused(at now: Duration) {
    pauseCount += 1
    pausedAt = pausedAt ?? now
  }

  /// The operation ends such a wait.
  ///
  /// - Returns: The limits whose timers are to be set.
  mutating func resumed(at now: Duration) -> [TimeLimit] {
    pauseCount = max(0, pauseCount - 1)
    guard pauseCount == 0, let begin = pausedAt.take() else { return [] }
    // Progress in the wait, such as that of another task, counts as well.
    lastProgress = min(now, lastProgress.saturatingAdding(now - max(begin, lastProgress)))
    return exchange(&waiting, with: [])
  }

  /// The work has ended, and rollbacks begin.
  mutating func ended() { isOver = true }

  /// A timer has fired.
  ///
  /// - Parameters:
  ///   - limit: The limit of the timer.
  ///   - due: The time for which the timer was set.
  ///   - now: The time at which the timer fired.
  /// - Returns: The action for the timer.
  mutating func timerCame(of limit: TimeLimit, dueAt due: Duration, at now: Duration) -> Action {
    if isOver { return .none }
    if pausedAt != nil {
      waiting.append(limit)
      return .none
    }
    let duration = limit.timeout.duration
    // The machine has slept, and the operation couldn't progress.
    if now - due > duration { lastProgress = now }
    return lastProgress.saturatingAdding(duration) <= now ? .cancel : .again
  }

  /// The time since the last progress; nil while it isn't measured.
  func idleTime(at now: Duration) -> Duration? {
    isOver || pausedAt != nil ? nil : max(.zero, now - lastProgress)
  }
}

extension AdvancedOperation {
  /// An attempt begins, or a child has ended: the time of limits without progress begins again.
  final func noteProgress(ofNewAttempt isAttempt: Bool = false) {
    guard withCore({ $0.hasTimers && $0.extra?.stallWatch != nil }) else { return }
    let now = environment.clock.now
    withCore { core in
      if isAttempt {
        core.extra?.stallWatch?.attemptBegan(at: now)
      } else {
        core.extra?.stallWatch?.progressed(at: now)
      }
    }
  }

  /// Begins or ends a wait that limits of the time without progress don't measure.
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
