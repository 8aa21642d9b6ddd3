import AdvancedOperations

/// Holds when there is a file or folder at each of some paths: `exists: Package.swift`.
struct FilesExist: ImmediateCondition {
  let paths: [ConditionText]

  var name: String { "exists" }

  func check(_ operation: AdvancedOperation) -> OperationConditionResult {
    do {
      for path in paths {
        let path = try path()
        guard try FileTime.exists(path) else {
          return .failed(ConditionProblem(FileTime.absence(of: path)))
        }
      }
      return .satisfied
    } catch {
      return .failed(error)
    }
  }
}
