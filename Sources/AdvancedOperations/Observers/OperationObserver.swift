/// An object or a value that is notified of what happens to an operation.
///
/// Implement what you need; every method does nothing by default. A method with other types, such
/// as `Operation` in place of `AdvancedOperation`, is a method of your own, which is never called.
///
/// The methods of all observers of an operation are called one after the other, in order of
/// attaching, never at the same time, and without a lock held: each may call every method. They run
/// on the thread that makes the event, or on one that is delivering an earlier event; a blocked
/// callback keeps the operation from going on.
///
/// ```swift
/// struct Audit: OperationObserver {
///   func operationDidFinish(_ operation: AdvancedOperation, outcome: OperationOutcome) {
///     journal.write("\(operation.name ?? ""): \(outcome)")
///   }
/// }
/// ```
public protocol OperationObserver: Sendable {
  /// A queue took the operation in.
  func operationDidEnqueue(_ operation: AdvancedOperation)
  /// The operation has started, and its body is called afterwards, even if it is cancelled now.
  ///
  /// Not called for an operation that finishes without executing. An observer that calls `finish()`
  /// or `skip(reason:)` here ends the operation, and its body isn't called.
  func operationDidStart(_ operation: AdvancedOperation)
  /// The operation has added another one to its queue.
  func operation(_ operation: AdvancedOperation, didProduce newOperation: AdvancedOperation)
  /// The operation reported how far it is.
  func operation(
    _ operation: AdvancedOperation,
    didUpdateProgress progress: OperationProgress
  )
  /// An attempt failed, and the operation will begin another one.
  ///
  /// Called before the delay, for operations with a ``RetryPolicy``. When the operation is
  /// cancelled meanwhile, there is no other attempt.
  ///
  /// - Parameters:
  ///   - operation: The operation; for attempts of a ``RetryOperation``, that one.
  ///   - retry: Why the last attempt failed, and when the next one begins.
  func operation(
    _ operation: AdvancedOperation,
    willRetry retry: OperationRetry
  )
  /// The operation was cancelled for the first time, before its end was decided.
  func operationDidCancel(_ operation: AdvancedOperation, errors: [any Error])
  /// The outcome of the operation is decided, and it may still produce others.
  func operationWillFinish(_ operation: AdvancedOperation, outcome: OperationOutcome)
  /// The operation is over; its dependents start afterwards.
  func operationDidFinish(_ operation: AdvancedOperation, outcome: OperationOutcome)
}

extension OperationObserver {
  /// Does nothing.
  public func operationDidEnqueue(_ operation: AdvancedOperation) {}
  /// Does nothing.
  public func operationDidStart(_ operation: AdvancedOperation) {}
  /// Does nothing.
  public func operation(
    _ operation: AdvancedOperation,
    didProduce newOperation: AdvancedOperation
  ) {}
  /// Does nothing.
  public func operation(
    _ operation: AdvancedOperation,
    didUpdateProgress progress: OperationProgress
  ) {}
  /// Does nothing.
  public func operation(
    _ operation: AdvancedOperation,
    willRetry retry: OperationRetry
  ) {}
  /// Does nothing.
  public func operationDidCancel(_ operation: AdvancedOperation, errors: [any Error]) {}
  /// Does nothing.
  public func operationWillFinish(_ operation: AdvancedOperation, outcome: OperationOutcome) {}
  /// Does nothing.
  public func operationDidFinish(_ operation: AdvancedOperation, outcome: OperationOutcome) {}
}

/// An observer made of closures.
///
/// ```swift
/// operation.addObserver(BlockObserver(didStart: { print("started \($0)") }))
/// ```
public struct BlockObserver: OperationObserver {
  private let didEnqueue: (@Sendable (AdvancedOperation) -> Void)?
  private let didStart: (@Sendable (AdvancedOperation) -> Void)?
  private let didProduce: (@Sendable (AdvancedOperation, AdvancedOperation) -> Void)?
  private let didUpdateProgress: (@Sendable (AdvancedOperation, OperationProgress) -> Void)?
  private let willRetry: (@Sendable (AdvancedOperation, OperationRetry) -> Void)?
  private let didCancel: (@Sendable (AdvancedOperation, [any Error]) -> Void)?
  private let willFinish: (@Sendable (AdvancedOperation, OperationOutcome) -> Void)?
  private let didFinish: (@Sendable (AdvancedOperation, OperationOutcome) -> Void)?

  /// Creates an observer; each closure is optional and stands for the method of its name.
  public init(
    didEnqueue: (@Sendable (AdvancedOperation) -> Void)? = nil,
    didStart: (@Sendable (AdvancedOperation) -> Void)? = nil,
    didProduce: (@Sendable (AdvancedOperation, AdvancedOperation) -> Void)? = nil,
    didUpdateProgress: (@Sendable (AdvancedOperation, OperationProgress) -> Void)? = nil,
    willRetry: (@Sendable (AdvancedOperation, OperationRetry) -> Void)? = nil,
    didCancel: (@Sendable (AdvancedOperation, [any Error]) -> Void)? = nil,
    willFinish: (@Sendable (AdvancedOperation, OperationOutcome) -> Void)? = nil,
    didFinish: (@Sendable (AdvancedOperation, OperationOutcome) -> Void)? = nil
  ) {
    self.didEnqueue = didEnqueue
    self.didStart = didStart
    self.didProduce = didProduce
    self.didUpdateProgress = didUpdateProgress
    self.willRetry = willRetry
    self.didCancel = didCancel
    self.willFinish = willFinish
    self.didFinish = didFinish
  }

  /// Whether there is a closure for an event that comes before the body.
  fileprivate var hasClosureForStart: Bool { didEnqueue != nil || didStart != nil }

  /// Calls the closure.
  public func operationDidEnqueue(_ operation: AdvancedOperation) { didEnqueue?(operation) }
  /// Calls the closure.
  public func operationDidStart(_ operation: AdvancedOperation) { didStart?(operation) }
  /// Calls the closure.
  public func operation(
    _ operation: AdvancedOperation,
    didProduce newOperation: AdvancedOperation
  ) { didProduce?(operation, newOperation) }
  /// Calls the closure.
  public func operation(
    _ operation: AdvancedOperation,
    didUpdateProgress progress: OperationProgress
  ) { didUpdateProgress?(operation, progress) }
  /// Calls the closure.
  public func operation(
    _ operation: AdvancedOperation,
    willRetry retry: OperationRetry
  ) { willRetry?(operation, retry) }
  /// Calls the closure.
  public func operationDidCancel(_ operation: AdvancedOperation, errors: [any Error]) {
    didCancel?(operation, errors)
  }
  /// Calls the closure.
  public func operationWillFinish(_ operation: AdvancedOperation, outcome: OperationOutcome) {
    willFinish?(operation, outcome)
  }
  /// Calls the closure.
  public func operationDidFinish(_ operation: AdvancedOperation, outcome: OperationOutcome) {
    didFinish?(operation, outcome)
  }
}

extension OperationObserver {
  /// Whether the observer may do something when an operation is enqueued or starts.
  var noticesStart: Bool {
    guard Self.self == BlockObserver.self else { return true }
    // Not a cast, which copies all closures: 700 instructions (callgrind).
    return unsafe withUnsafePointer(to: self) { pointer in
      unsafe UnsafeRawPointer(pointer).assumingMemoryBound(to: BlockObserver.self).pointee
        .hasClosureForStart
    }
  }
}
