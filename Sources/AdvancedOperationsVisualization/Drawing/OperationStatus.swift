import AdvancedOperations

/// The state and the outcome of an operation in one word, with a color.
enum OperationStatus: String, CaseIterable {
  case waiting, evaluating, ready, executing, finishing, succeeded, failed, cancelled, skipped

  init(_ state: AdvancedOperation.State, _ outcome: OperationOutcome?) {
    self =
      switch (outcome, state) {
      case (.succeeded, _): .succeeded
      case (.failed, _): .failed
      case (.cancelled, _): .cancelled
      case (.skipped, _): .skipped
      case (nil, .pending): .waiting
      case (nil, .evaluatingConditions): .evaluating
      case (nil, .ready): .ready
      case (nil, .executing): .executing
      case (nil, .finishing), (nil, .finished): .finishing
      }
  }

  var text: String { self == .evaluating ? "evaluating conditions" : rawValue }

  var color: String {
    switch self {
    case .waiting: "#eeeeee"
    case .evaluating: "#fff2c4"
    case .ready: "#d9e8fb"
    case .executing, .finishing: "#8fc1f5"
    case .succeeded: "#b7e0b0"
    case .failed: "#f4a9a0"
    case .cancelled: "#cfcfcf"
    case .skipped: "#e9dcf2"
    }
  }
}

extension OperationOutcome {
  /// The status of the outcome, without its errors.
  var status: OperationStatus { OperationStatus(.finished, self) }
}
