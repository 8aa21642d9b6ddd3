import AdvancedOperations

/// Holds when a file is not too large.
///
/// The size is asked for when the condition is: it may change until then.
struct SizeLimit: ImmediateCondition {
  let path: String
  let maximum: ByteCount

  var name: String { "not too large" }

  func check(_ operation: AdvancedOperation) -> OperationConditionResult {
    do {
      let size = try FeedFile(path: path).size()
      return size <= maximum ? .satisfied : .failed(FileProblem.tooLarge(size, maximum: maximum))
    } catch {
      return .failed(error)
    }
  }
}
