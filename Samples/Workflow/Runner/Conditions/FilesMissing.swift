import AdvancedOperations

/// Holds when there is nothing at any of some paths: `missing: out/app.tar`.
///
/// A file that is unfinished counts as nothing.
struct FilesMissing: ImmediateCondition {
  let paths: [ConditionText]
  /// What a step that hasn't succeeded may have written.
  var unfinished: UnfinishedOutputs?

  var name: String { "missing" }

  func check(_ operation: AdvancedOperation) -> OperationConditionResult {
    do {
      for path in paths {
        let path = try path()
        if try FileTime.exists(path), unfinished?.contains(path) != true {
          return .failed(ConditionProblem("there is a file \(path)"))
        }
      }
      return .satisfied
    } catch {
      return .failed(error)
    }
  }
}
