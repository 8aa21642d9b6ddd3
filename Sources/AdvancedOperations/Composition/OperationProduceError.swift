/// An operation could not produce another one.
public enum OperationProduceError: Error, Hashable, CustomStringConvertible {
  /// It is not executing: not yet, or not any more.
  case notExecuting
  /// It is in no queue to which the other one could be added.
  case noQueue

  /// One sentence.
  public var description: String {
    switch self {
    case .notExecuting: "Only an operation that is executing can produce others."
    case .noQueue: "The operation was started by hand, so there is no queue for what it produces."
    }
  }
}

extension AdvancedOperation {
  final func add(produced operation: AdvancedOperation) throws {
    guard withCore({ $0.machine.mayProduce }) else {
      throw OperationProduceError.notExecuting
    }
    // Before it is added, because a queue that is being drained takes it in for that.
    operation.withCore { $0.makeExtra().producer = self }
    do { try addWhereThisRuns(operation) } catch {
      operation.withCore { $0.extra?.producer = nil }
      throw error
    }
    withCore { core in
      if !core.observers.isEmpty { core.line.append(.produced(operation)) }
    }
    deliver()
  }

  private func addWhereThisRuns(_ operation: AdvancedOperation) throws {
    if let group = withCore({ $0.extra?.group }) {
      guard group.adopt(operation) else { throw OperationProduceError.notExecuting }
    } else if let queue {
      queue.addOperation(operation)
    } else {
      throw OperationProduceError.noQueue
    }
  }
}
