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
    case .noQueue: "The operation was started manually, so there is no queue for what it produces."
    }
  }
}

extension AdvancedOperation {
  final func add(produced operation: AdvancedOperation) throws {
    // Its place among the events is taken in the step that finds it in time, and what comes
    // meanwhile, the end among it, is told behind it.
    let (isInTime, isAnnounced) = withCore { core in
      guard core.machine.mayProduce else { return (false, false) }
      if core.observers.isEmpty { return (true, false) }
      core.line.append(.produced(operation))
      core.line.sweepBegan()
      return (true, true)
    }
    if !isInTime { throw OperationProduceError.notExecuting }
    // Before it is added, because a queue that is being drained takes it in for that.
    operation.withCore { $0.makeExtra().producer = self }
    let result = Result { try addWhereThisRuns(operation) }
    withCore { core in
      if isAnnounced { core.line.sweepEnded() }
      switch result {
      case .success:
        if !isAnnounced, !core.observers.isEmpty { core.line.append(.produced(operation)) }
      case .failure: if isAnnounced { core.line.removeProduced(operation) }
      }
    }
    deliver()
    if case .failure = result { operation.withCore { $0.extra?.producer = nil } }
    try result.get()
  }

  private func addWhereThisRuns(_ operation: AdvancedOperation) throws {
    if let parent {
      guard parent.adopt(operation) else { throw OperationProduceError.notExecuting }
    } else if let queue {
      queue.addOperation(operation)
    } else {
      throw OperationProduceError.noQueue
    }
  }
}
