import CoreOperations

/// An operation that another one has made to run it, and the value that it gives.
struct MadeOperation<Value: Sendable>: Sendable {
  let operation: AdvancedOperation
  /// The value of the operation, once it is quiet and hasn't failed.
  let value: @Sendable () throws -> Value

  init(operation: AdvancedOperation, value: @escaping @Sendable () throws -> Value) {
    self.operation = operation
    self.value = value
  }

  init(giving operation: ResultOperation<Value>) {
    self.operation = operation
    value = {
      if case .skipped(let reason) = operation.outcome { throw OperationSkipped(reason: reason) }
      guard let result = operation.result else {
        trap("the value of “\(operation.label)” was taken before it was decided")
      }
      return try result.get()
    }
  }

  /// Any operation, which gives the value that there is.
  init(any operation: AdvancedOperation) where Value == Void {
    self.operation = operation
    value = {}
  }
}
