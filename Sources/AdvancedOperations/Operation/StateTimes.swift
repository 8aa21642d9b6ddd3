/// When an operation entered its states; nil for those that it was not seen to enter.
struct StateTimes: Sendable {
  // Not an array, which cost more than all else about an async condition (callgrind).
  private var evaluating: Duration?
  private var ready: Duration?
  private var executing: Duration?

  init() {}

  /// The others are never read.
  static func hasPlace(for state: AdvancedOperation.State) -> Bool {
    switch state {
    case .evaluatingConditions, .ready, .executing: true
    case .pending, .finishing, .finished: false
    }
  }

  subscript(state: AdvancedOperation.State) -> Duration? {
    get {
      switch state {
      case .evaluatingConditions: evaluating
      case .ready: ready
      case .executing: executing
      case .pending, .finishing, .finished: nil
      }
    }
    set {
      switch state {
      case .evaluatingConditions: evaluating = newValue
      case .ready: ready = newValue
      case .executing: executing = newValue
      case .pending, .finishing, .finished: return
      }
    }
  }
}
