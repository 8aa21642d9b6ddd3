/// A child has said how far it is, which its parent has to hear.
struct ProgressNews {
  let child: AdvancedOperation
  let parent: AdvancedOperation
  let update: OperationProgressUpdate
}

extension AdvancedOperation {
  /// Tells observers how far the operation is, while it is executing.
  ///
  /// - Parameter change: Finds out how far, with the operation's lock held; nil if that is nothing
  ///   new.
  /// - Returns: What is to be told to its parent.
  final func says(_ change: () -> OperationProgressUpdate?) -> ProgressNews? {
    let news = withCore { core -> ProgressNews? in
      guard let update = change(), core.machine.state == .executing else { return nil }
      if !core.observers.isEmpty { core.line.append(.progress(update)) }
      return core.extra?.group.map { ProgressNews(child: self, parent: $0, update: update) }
    }
    deliver()
    return news
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
