import AdvancedOperations

/// What a desk remembers.
struct DeskState {
  /// An order that goes on here, or did.
  struct Run {
    let group: GroupOperation
    let recorder: TimelineRecorder
  }

  var runs: [OrderID: Run] = [:]
  var isDraining = false
}
