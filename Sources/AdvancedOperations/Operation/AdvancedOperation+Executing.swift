import CoreOperations

extension AdvancedOperation {
  /// The operation that has produced this one, as long as it exists.
  final var producer: AdvancedOperation? { withCore { $0.extra?.producer } }

  /// Adds another operation to where this one runs: its queue, or its group.
  ///
  /// Observers are notified once it was added. What comes meanwhile, the end of this operation
  /// among it, is told after that.
  ///
  /// The produced operation has an outcome of its own. If it fails, that isn't an error of this
  /// operation, and no attempt of this one is repeated: give the produced operation a retry policy of
  /// its own. Its failure counts for what runs both, such as a group, a ``RetryOperation`` or a
  /// ``RepeatOperation``.
  ///
  /// - Parameter operation: In no queue yet.
  /// - Throws: ``OperationProduceError`` unless the operation is in a queue, and executing or
  ///   notifying observers that it will finish.
  public final func produce(_ operation: AdvancedOperation) throws {
    // Its place among the events is taken in the step that finds it in time, so that later events,
    // such as the end, are delivered behind it.
    let (isInTime, isAnnounced) = withCore { core in
      guard core.machine.mayProduce else { return (false, false) }
      if core.observers.isEmpty { return (true, false) }
      core.delivery.append(.produced(operation))
      core.delivery.sweepBegan()
      return (true, true)
    }
    if !isInTime { throw OperationProduceError.notExecuting }
    // Before it is added, because a queue that is being drained takes it in for that.
    operation.withCore { $0.makeExtra().producer = self }
    let result = Result { try addWhereThisRuns(operation) }
    changeAndDeliver { core in
      if isAnnounced { core.delivery.sweepEnded() }
      switch result {
      case .success:
        if !isAnnounced, !core.observers.isEmpty { core.delivery.append(.produced(operation)) }
      case .failure: if isAnnounced { core.delivery.removeProduced(operation) }
      }
    }
    if case .failure = result { operation.withCore { $0.extra?.producer = nil } }
    try result.get()
  }

  private func addWhereThisRuns(_ operation: AdvancedOperation) throws {
    if let parent {
      guard parent.childRunner?.adopt(operation, of: parent) == true else {
        throw OperationProduceError.notExecuting
      }
    } else if let queue {
      queue.addOperation(operation)
    } else {
      throw OperationProduceError.noQueue
    }
  }

  // MARK: Progress
  /// Notifies observers of how far the operation is; ignored unless it is executing.
  ///
  /// - Parameters:
  ///   - completed: How many units are done.
  ///   - total: How many there are in all.
  public final func updateProgress(completed: Int64, total: Int64) {
    let update = OperationProgress(completedUnitCount: completed, totalUnitCount: total)
    tellParents(says { update })
  }

  /// Tells observers how far the operation is, while it is executing.
  ///
  /// - Parameter change: Finds out how far, with the operation's lock held; nil if that is nothing
  ///   new.
  /// - Returns: What is to be told to its parent.
  final func says(_ change: () -> OperationProgress?) -> ProgressNews? {
    changeAndDeliver { core in
      guard let update = change(), core.machine.state == .executing else { return nil }
      if !core.observers.isEmpty { core.delivery.append(.progress(update)) }
      return core.extra?.group.map { ProgressNews(child: self, parent: $0, update: update) }
    }
  }

  /// Tells a parent, then that one's parent, and so on: they may be in each other as deep as a
  /// program likes.
  final func tellParents(_ news: ProgressNews?) {
    var next = news
    while let news = next {
      let parent = news.parent
      next = parent.childRunner?.child(news.child, didUpdateProgress: news.update, of: parent)
    }
  }

  /// Notifies observers of an attempt to come.
  final func willRetry(_ retry: OperationRetry) {
    changeAndDeliver { core in
      guard core.machine.state == .executing, !core.observers.isEmpty else { return }
      core.delivery.append(.retrying(retry))
    }
  }
}

/// A child has said how far it is, which its parent has to hear.
struct ProgressNews {
  let child: AdvancedOperation
  let parent: AdvancedOperation
  let update: OperationProgress
}

/// An operation could not produce another one.
///
/// Later versions may add cases, so a `switch` needs an `@unknown default`.
@nonexhaustive
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
