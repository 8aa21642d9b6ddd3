import AdvancedOperations

/// Holds when a volume has room: `free-disk: {at-least: 1GiB, at: build}`.
struct FreeDisk: ImmediateCondition {
  let bytes: Int
  let path: ConditionText

  var name: String { "free-disk" }

  func check(_ operation: AdvancedOperation) -> OperationConditionResult {
    do {
      switch FreeSpace(atLeast: Int64(bytes), at: try path()).check(operation) {
      case .failed(let problem as FreeSpace.Problem):
        guard case .tooLittle = problem else { return .failed(problem) }
        // The framework's sentence, as a part of one.
        return .failed(ConditionProblem("\("\(problem)".dropLast())"))
      case let other: return other
      }
    } catch {
      return .failed(error)
    }
  }
}
