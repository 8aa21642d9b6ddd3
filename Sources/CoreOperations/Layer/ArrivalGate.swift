/// What becomes of operations that are added to a queue which is being drained.
package protocol ArrivalGate: AnyObject, Sendable {
  /// Operations have become members, and nothing has happened to them yet: cancels them, or takes
  /// them in. Called without a lock held.
  ///
  /// - Parameters:
  ///   - operations: The new members.
  ///   - queue: Their queue.
  ///   - member: The member that needs them for a condition; nil for none.
  func arrived(_ operations: [Operation], in queue: any QueueObject, neededBy member: Operation?)
}
