/// When a journal is synced for those that wait for it without a thread: a plain value.
///
/// A sync takes all that wait when it begins. It begins at once if something is held up by one of
/// them, and otherwise after a pause, so that more of them share it.
struct SyncSchedule<Waiter> {
  private enum Phase {
    /// Nothing waits. Exits: `later`, `due`.
    case idle
    /// What waits holds nothing up; a pause goes on. Exit: `due`.
    case later
    /// A sync goes on, or is about to begin. Exits: `idle`, `later`.
    case due
  }

  enum Action: Equatable {
    case none
    /// Begin a sync.
    case sync
    /// Say so when a pause is over.
    case pause
  }

  private var phase = Phase.idle
  private var waiters: [Waiter] = []
  /// Whether one of the waiters holds something up.
  private var isUrgent = false

  /// Something waits for a sync.
  mutating func waits(_ waiter: Waiter, isUrgent: Bool) -> Action {
    waiters.append(waiter)
    self.isUrgent = self.isUrgent || isUrgent
    switch phase {
    case .idle: return next()
    case .later: return isUrgent ? next() : .none
    case .due: return .none
    }
  }

  /// A pause is over.
  mutating func pauseEnded() -> Action {
    switch phase {
    // A sync came before it.
    case .idle, .due: return .none
    case .later:
      phase = .due
      return .sync
    }
  }

  /// A sync begins; returns all that wait for it.
  mutating func syncBegins() -> [Waiter] {
    defer { (waiters, isUrgent) = ([], false) }
    return waiters
  }

  /// A sync has ended.
  mutating func syncEnded() -> Action {
    if waiters.isEmpty {
      phase = .idle
      return .none
    }
    return next()
  }

  private mutating func next() -> Action {
    phase = isUrgent ? .due : .later
    return isUrgent ? .sync : .pause
  }
}
