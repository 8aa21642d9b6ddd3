/// An object that a queue notifies of its advanced operations.
///
/// No method is called with a lock held; each may call every method of queue and operation. Every
/// method does nothing by default. A method with other types is a method of your own, which is
/// never called.
///
/// ```swift
/// final class Deadlines: AdvancedOperationQueueDelegate {
///   func operationQueue(_ queue: AdvancedOperationQueue, willAdd operation: AdvancedOperation) {
///     operation.addObserver(TimeoutObserver(.seconds(60)))
///   }
/// }
/// let deadlines = Deadlines()
/// queue.delegate = deadlines
/// ```
public protocol AdvancedOperationQueueDelegate: AnyObject, Sendable {
  /// The operation is about to become a member: the last chance to add conditions.
  ///
  /// On the thread that adds the operation.
  func operationQueue(_ queue: AdvancedOperationQueue, willAdd operation: AdvancedOperation)
  /// The operation is a member, and its observers were notified of that.
  ///
  /// On the thread that adds the operation.
  func operationQueue(_ queue: AdvancedOperationQueue, didAdd operation: AdvancedOperation)
  /// The operation has ended and its observers were notified of that.
  ///
  /// On the thread that notified them, before dependents start.
  func operationQueue(
    _ queue: AdvancedOperationQueue,
    didFinish operation: AdvancedOperation,
    errors: [any Error]
  )
}

extension AdvancedOperationQueueDelegate {
  /// Does nothing.
  public func operationQueue(
    _ queue: AdvancedOperationQueue,
    willAdd operation: AdvancedOperation
  ) {}
  /// Does nothing.
  public func operationQueue(
    _ queue: AdvancedOperationQueue,
    didAdd operation: AdvancedOperation
  ) {}
  /// Does nothing.
  public func operationQueue(
    _ queue: AdvancedOperationQueue,
    didFinish operation: AdvancedOperation,
    errors: [any Error]
  ) {}
}
