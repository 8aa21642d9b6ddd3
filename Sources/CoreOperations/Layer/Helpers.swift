// Operations that others need before their conditions are evaluated.

extension Operation {
  /// A condition of another operation needs the end of this one.
  package final func neededAsHelper() { withLinks { $0.makeExtra().helperNeedCount += 1 } }

  /// The layer adds the operation to a queue because a condition needs it, and for nothing else.
  package final func addedAsHelper() { withLinks { $0.makeExtra().isOnlyHelper = true } }

  /// An operation that needed this one doesn't any more.
  ///
  /// - Returns: Whether nothing needs it now: no condition does, and it was added for conditions.
  package final func notNeededAsHelper() -> Bool {
    withLinks { links in
      let extra = links.makeExtra()
      extra.helperNeedCount -= 1
      return extra.helperNeedCount == 0 && extra.isOnlyHelper
    }
  }
}
