import CoreOperations

extension AdvancedOperation {
  /// The operation that has produced this operation, if it still exists.
  final var producer: AdvancedOperation? { withCore { $0.extra?.producer } }

  /// Adds another operation to the queue or the group in which this operation runs.
  ///
  /// Observers are notified once the operation was added. Events that occur in the meantime, such as the end
  /// of this operation, are delivered after that.
  ///
  /// The produced operation has a separate outcome. If it fails, that isn't an error of this operation, and
  /// the retry policy of this operation doesn't repeat an attempt. Give the produced operation a separate
  /// retry policy instead. The failure of the produced operation is an error of the operation that runs both,
  /// such as a group, a ``RetryOperation`` or a ``RepeatOperation``.
  ///
  /// - Parameter operation: An operation that isn't in a queue yet.
  /// - Throws: ``OperationProduceError`` unless this operation is in a queue, and is executing or notifying
  ///   observers that it will finish.
  public final func produce(_ operation: AdvancedOperation) throws {
    // The event gets its place in the same step as the check, so that later events, such as the end, are
    // delivered after it.
    let (isInTime, isAnnounced) = withCore { core in
      guard core.machine.mayProduce else { return (false, false) }
      if core.observers.isEmpty { return (true, false) }
      core.delivery.append(.produced(operation))
      core.delivery.sweepBegan()
      return (true, true)
    }
    if !isInTime { throw OperationProduceError.notExecuting }
    // The producer is set before the operation is added, because a queue that is being drained accepts the
    // operation for that reason.
    operation.withCore { $0.makeExtra().producer = self }
    passDeadline(toProduced: operation)
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
  /// Notifies observers of the operation's progress; ignored unless the operation is executing.
  ///
  /// - Parameters:
  ///   - completed: The number of completed units.
  ///   - total: The number of units in total.
  public final func updateProgress(completed: Int64, total: Int64) {
    let update = OperationProgress(completedUnitCount: completed, totalUnitCount: total)
    tellParents(says { update })
  }

  /// Notifies observers of the progress of the operation, while it is executing.
  ///
  /// - Parameters:
  ///   - isEndOfChild: Whether a child has ended, which is progress in any case.
  ///   - change: A closure that returns the progress, called with the operation's lock held; nil if the
  ///     progress hasn't changed.
  /// - Returns: The update for the parent.
  final func says(
    isEndOfChild: Bool = false,
    _ change: () -> OperationProgress?
  ) -> ProgressNews? {
    var isProgress = false
    let news = changeAndDeliver { core -> ProgressNews? in
      let update = change()
      if core.hasTimers, core.extra?.stallWatch != nil {
        let isNew = update.map { core.extra?.stallWatch?.says($0) == true } ?? false
        isProgress = isEndOfChild || isNew
      }
      guard let update, core.machine.state == .executing else { return nil }
      if !core.observers.isEmpty { core.delivery.append(.progress(update)) }
      return core.extra?.group.map { ProgressNews(child: self, parent: $0, update: update) }
    }
    if isProgress { noteProgress() }
    return news
  }

  final func tellParents(_ news: ProgressNews?) {
    var next = news
    while let news = next {
      let parent = news.parent
      next = parent.childRunner?.child(news.child, didUpdateProgress: news.update, of: parent)
    }
  }

  /// Notifies observers of the next attempt.
  final func willRetry(_ retry: OperationRetry) {
    changeAndDeliver { core in
      guard core.machine.state == .executing, !core.observers.isEmpty else { return }
      core.delivery.append(.retrying(retry))
    }
  }
}

/// A progress update of a child, which its parent has to process.
struct ProgressNews {
  let child: AdvancedOperation
  let parent: AdvancedOperation
  let update: OperationProgress
}

/// An error of an operation that can't produce another operation.
///
/// Later versions may add cases, so a `switch` needs an `@unknown default`.
@nonexhaustive
public enum OperationProduceError: Error, Hashable, CustomStringConvertible {
  /// The operation isn't executing: either not yet, or not any more.
  case notExecuting
  /// The operation isn't in a queue to which the produced operation could be added.
  case noQueue

  /// A description of the error, with its remedy.
  public var description: String {
    switch self {
    case .notExecuting:
      "produce(_:) was called on an operation that isn't executing. Call it in the operation's body."
    case .noQueue:
      "produce(_:) was called on an operation that was started without a queue. Add the operation to "
        + "a queue instead of starting it."
    }
  }
}
