/// An observer made of closures.
///
/// ```swift
/// operation.addObserver(BlockObserver(didStart: { print("started \($0)") }))
/// ```
public struct BlockObserver: OperationObserver {
  private let didEnqueue: (@Sendable (AdvancedOperation) -> Void)?
  private let didStart: (@Sendable (AdvancedOperation) -> Void)?
  private let didProduce: (@Sendable (AdvancedOperation, AdvancedOperation) -> Void)?
  private let didUpdateProgress: (@Sendable (AdvancedOperation, OperationProgressUpdate) -> Void)?
  private let willRetry: (@Sendable (AdvancedOperation, Int, Duration, any Error) -> Void)?
  private let didCancel: (@Sendable (AdvancedOperation, [any Error]) -> Void)?
  private let willFinish: (@Sendable (AdvancedOperation, [any Error]) -> Void)?
  private let didFinish: (@Sendable (AdvancedOperation, [any Error]) -> Void)?

  /// Creates an observer; each closure is optional and stands for the method of its name.
  public init(
    didEnqueue: (@Sendable (AdvancedOperation) -> Void)? = nil,
    didStart: (@Sendable (AdvancedOperation) -> Void)? = nil,
    didProduce: (@Sendable (AdvancedOperation, AdvancedOperation) -> Void)? = nil,
    didUpdateProgress: (@Sendable (AdvancedOperation, OperationProgressUpdate) -> Void)? = nil,
    willRetry: (@Sendable (AdvancedOperation, Int, Duration, any Error) -> Void)? = nil,
    didCancel: (@Sendable (AdvancedOperation, [any Error]) -> Void)? = nil,
    willFinish: (@Sendable (AdvancedOperation, [any Error]) -> Void)? = nil,
    didFinish: (@Sendable (AdvancedOperation, [any Error]) -> Void)? = nil
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
    didUpdateProgress progress: OperationProgressUpdate
  ) { didUpdateProgress?(operation, progress) }
  /// Calls the closure.
  public func operation(
    _ operation: AdvancedOperation,
    willRetryAsAttempt attempt: Int,
    after delay: Duration,
    because error: any Error
  ) { willRetry?(operation, attempt, delay, error) }
  /// Calls the closure.
  public func operationDidCancel(_ operation: AdvancedOperation, errors: [any Error]) {
    didCancel?(operation, errors)
  }
  /// Calls the closure.
  public func operationWillFinish(_ operation: AdvancedOperation, errors: [any Error]) {
    willFinish?(operation, errors)
  }
  /// Calls the closure.
  public func operationDidFinish(_ operation: AdvancedOperation, errors: [any Error]) {
    didFinish?(operation, errors)
  }
}
