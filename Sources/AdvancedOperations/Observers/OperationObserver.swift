/// An object or a value that is notified of the events of an operation.
///
/// Implement the methods that you need. By default, the methods do nothing. A method with other parameter
/// types, such as `Operation` in place of `AdvancedOperation`, doesn't implement the protocol and is never
/// called.
///
/// The observers of an operation are notified one after the other, in the order in which they were attached,
/// and never at the same time. No lock is held, so a callback may call any method. The callbacks run on the
/// thread that causes the event, or on a thread that is still delivering an earlier event. The operation
/// doesn't continue while a callback blocks its thread.
///
/// ```swift
/// struct Audit: OperationObserver {
///   func operationDidFinish(_ operation: AdvancedOperation, outcome: OperationOutcome) {
///     journal.write("\(operation.name ?? ""): \(outcome)")
///   }
/// }
/// ```
public protocol OperationObserver: Sendable {
  /// Notifies the observer that the operation was added to a queue.
  func operationDidEnqueue(_ operation: AdvancedOperation)
  /// Notifies the observer that the operation has started.
  ///
  /// The body is called afterwards, even if the operation is cancelled now. The method isn't called for an
  /// operation that finishes without executing. If the observer calls `finish()` or `skip(reason:)` in this
  /// method, the operation ends and its body isn't called.
  func operationDidStart(_ operation: AdvancedOperation)
  /// Notifies the observer that the operation has added another operation to its queue.
  func operation(_ operation: AdvancedOperation, didProduce newOperation: AdvancedOperation)
  /// Notifies the observer that the operation has reported its progress.
  func operation(
    _ operation: AdvancedOperation,
    didUpdateProgress progress: OperationProgress
  )
  /// Notifies the observer that an attempt failed and the operation will begin another attempt.
  ///
  /// The method is called before the delay, for operations with a ``RetryPolicy``. If the operation is
  /// cancelled during the delay, no other attempt follows.
  ///
  /// - Parameters:
  ///   - operation: The operation; for an attempt of a ``RetryOperation``, the retry operation.
  ///   - retry: The error of the failed attempt, and the delay before the next attempt.
  func operation(
    _ operation: AdvancedOperation,
    willRetry retry: OperationRetry
  )
  /// Notifies the observer that the operation was cancelled for the first time, before its outcome was
  /// decided.
  func operationDidCancel(_ operation: AdvancedOperation, errors: [any Error])
  /// Notifies the observer that the outcome is decided; the operation may still produce other operations.
  func operationWillFinish(_ operation: AdvancedOperation, outcome: OperationOutcome)
  /// Notifies the observer that the operation finishes; its dependents start afterwards.
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

/// An observer that calls closures.
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

  /// Creates an observer with optional closures, each for the method with the corresponding name.
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

  /// A Boolean value that indicates whether the observer has a closure for an event before the body.
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
  /// A Boolean value that indicates whether the observer may react to the enqueueing or the start of an
  /// operation.
  var noticesStart: Bool {
    guard Self.self == BlockObserver.self else { return true }
    // The code avoids a cast, which would copy all closures and take 700 instructions (callgrind).
    return unsafe withUnsafePointer(to: self) { pointer in
      unsafe UnsafeRawPointer(pointer).assumingMemoryBound(to: BlockObserver.self).pointee
        .hasClosureForStart
    }
  }
}
