import AdvancedOperations

/// Holds when there is nothing at any of some paths: `missing: out/app.tar`.
struct FilesMissing: ImmediateCondition {
  let paths: [ConditionText]

  var name: String { "missing" }

  func check(_ operation: AdvancedOperation) -> OperationConditionResult {
    do {
      for path in paths {
        let path = try path()
        if try FileTime.exists(path) {
          return .failed(ConditionProblem("there is a file \(path)"))
        }
      }
      return .satisfied
    } catch {
      return .failed(error)
    }
  }
}
