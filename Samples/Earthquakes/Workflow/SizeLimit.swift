import AdvancedOperations

/// Holds when something is not too large.
///
/// The size is asked for when the condition is: that of a file may change until then, that of a
/// download isn't known before.
struct SizeLimit: ImmediateCondition {
  let maximum: ByteCount
  let size: @Sendable () throws -> ByteCount

  var name: String { "not too large" }

  func check(_ operation: AdvancedOperation) -> OperationConditionResult {
    do {
      let size = try size()
      return size <= maximum ? .satisfied : .failed(FileProblem.tooLarge(size, maximum: maximum))
    } catch {
      return .failed(error)
    }
  }
}
