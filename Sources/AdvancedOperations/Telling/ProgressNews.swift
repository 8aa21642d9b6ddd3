/// A child has said how far it is, which its parent has to hear.
struct ProgressNews {
  let child: AdvancedOperation
  let parent: AdvancedOperation
  let update: OperationProgressUpdate
}

extension AdvancedOperation {
  /// Tells observers how far the operation is.
  ///
  /// - Returns: What is to be told to its parent.
  final func says(_ update: OperationProgressUpdate) -> ProgressNews? {
    let group = withCore { core -> AdvancedOperation? in
      guard core.machine.state == .executing else { return nil }
      if !core.observers.isEmpty { core.line.append(.progress(update)) }
      return core.extra?.group
    }
    deliver()
    return group.map { ProgressNews(child: self, parent: $0, update: update) }
  }

  /// Tells a parent, then that one's parent, and so on: they may be in each other as deep as a
  /// program likes.
  final func tellParents(_ news: ProgressNews?) {
    var next = news
    while let news = next {
      next = news.parent.child(news.child, didUpdateProgress: news.update)
    }
  }
}

extension AdvancedOperation {
  /// Notifies observers of an attempt to come.
  final func willRetry(_ attempt: Int, after delay: Duration, because error: any Error) {
    withCore { core in
      guard core.machine.state == .executing, !core.observers.isEmpty else { return }
      core.line.append(.retrying(attempt: attempt, after: delay, because: error))
    }
    deliver()
  }
}
