/// When an operation entered its states; nil for those that it was not seen to enter.
struct StateTimes: Sendable {
  // Not an array, which cost more than all else about an async condition (callgrind).
  var evaluating: Duration?
  private(set) var ready: Duration?
  private(set) var executing: Duration?
  /// When it began to wait for its claims: for an explanation of an operation without conditions,
  /// which wasn't seen to become ready.
  var claiming: Duration?

  /// The others are never read.
  static func hasPlace(for state: AdvancedOperation.State) -> Bool {
    switch state {
    case .evaluatingConditions, .ready, .executing: true
    case .pending, .finishing, .finished: false
    }
  }

  mutating func entered(_ state: AdvancedOperation.State, at time: Duration) {
    switch state {
    case .evaluatingConditions: evaluating = time
    case .ready: ready = time
    case .executing: executing = time
    case .pending, .finishing, .finished: return
    }
  }
}
