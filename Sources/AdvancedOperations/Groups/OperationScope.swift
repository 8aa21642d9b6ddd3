public import CoreOperations

/// Runs operations while a closure runs, and waits for all of them.
///
/// ```swift
/// let events = try await withOperations { scope in
///   let download = scope.add(ResultOperation(name: "download") { try await feed.download() })
///   let parse = scope.add(download.then(name: "parse") { data in try Feed(data).events })
///   scope.add(Thumbnails())
///   return try await parse.value
/// }
/// ```
///
/// No operation in the scope outlives the call. The function returns when every operation in the scope is
/// idle and all completion blocks have returned. Operations that were produced in the scope are in the scope
/// too. Cancelling the task cancels all of them. An operation that fails doesn't cancel its siblings. If the
/// closure throws, the operations that are still running are cancelled with that error as the reason.
///
/// The operations are in a separate queue, without separate threads.
///
/// - Parameters:
///   - maxConcurrentOperationCount: The number of operations of the scope that may execute at the same time;
///     the number of threads by default.
///   - deadline: The time on the clock of the environment at which the operations in the scope are cancelled;
///     nil for no limit. See ``AdvancedOperation/deadline``. The closure continues, so let it await operations.
///     If the deadline has passed before the call, the closure isn't called.
///   - environment: The environment of the operations in the scope. By default it is the environment of
///     `AdvancedOperation.current`, with its clock, its claims and the observers of its queue. Outside of any
///     operation it is a new environment.
///   - body: A closure that adds operations, and may await them. The closure is called once, where the caller
///     runs.
/// - Returns: The value that the closure returned.
/// - Throws: The error that the closure throws. If it returned and operations have failed, an
///   ``OperationFailure`` with each root cause once, below ``OperationFailure/Origin/child(_:_:)``, and the
///   number of operations that didn't run because of the failures. A plain `cancel()` of an operation isn't
///   an error. If many operations have failed, the failure has the errors of the first and the last 64, and
///   its texts state the number of the others. If there is no other error, and operations were cut short, an
///   ``OperationFailure`` with an ``OperationTimeout`` if the deadline has passed, or `CancellationError` if
///   the task was cancelled.
@discardableResult
public func withOperations<R: Sendable>(
  maxConcurrentOperationCount: Int = OperationQueue.defaultMaxConcurrentOperationCount,
  deadline: Duration? = nil,
  environment: OperationEnvironment? = nil,
  _ body: (OperationScope) async throws -> R
) async throws -> R {
  let queue = ScopeQueue(
    maxConcurrentOperationCount: maxConcurrentOperationCount,
    deadline: deadline,
    environment: environment ?? .ofCaller
  )
  let limit = deadline.map { CallLimit($0, on: queue.environment.clock) }
  if let failure = limit?.passed { throw failure }
  let timer = limit?.start { queue.stop(reason: $0) }
  defer { timer?.cancel() }
  // An operation that runs this code can't end before the operations that it adds.
  let wait = try OwnWaits.begin(for: .queue(queue))
  defer { OwnWaits.end(wait) }
  return try await queue.run(body)
}

extension ScopeQueue {
  /// Calls the closure of a scope, and waits for the operations.
  func run<R: Sendable>(_ body: (OperationScope) async throws -> R) async throws -> R {
    try await withTaskCancellationHandler {
      do {
        let value = try await body(OperationScope(queue: self))
        await close()
        try checkOutcomes()
        return value
      } catch {
        // If the outcomes threw the error, all operations have ended and the stop has no effect.
        stop(reason: error)
        await close()
        throw error
      }
    } onCancel: {
      stop(reason: CancellationError())
    }
  }
}

/// A scope to which you add operations in `withOperations`.
///
/// ```swift
/// try await withOperations { scope in
///   for mirror in mirrors { scope.add(Probe(mirror)) }
/// }
/// ```
///
/// A copy refers to the same scope. You can use the scope from any thread, including from the operations in
/// it.
public struct OperationScope: Sendable {
  let queue: ScopeQueue

  /// Adds an operation, which may start immediately.
  ///
  /// If the task of the scope was cancelled, the operation is cancelled on arrival. If in addition the
  /// closure has returned or thrown, the scope doesn't wait for the operation, which is cancelled and
  /// finishes.
  ///
  /// - Parameter operation: An operation that isn't in a queue yet.
  /// - Returns: The operation.
  /// - Precondition: The scope has not ended by itself.
  @discardableResult
  public func add<T: Operation>(_ operation: T) -> T {
    queue.addOperation(operation)
    return operation
  }

  /// Cancels all operations in the scope, without a reason.
  ///
  /// You may add more operations afterwards.
  ///
  /// A cancel without a reason isn't an error of the scope. Use this method to end operations whose results
  /// aren't needed any more.
  public func cancelAll() { queue.cancelAllOperations() }

  /// Cancels all operations in the scope with a reason.
  ///
  /// You may add more operations afterwards.
  ///
  /// Each operation that ends because of this call has the reason as an error. When the closure has returned,
  /// the scope throws an ``OperationFailure`` with the reason. If the closure throws an error, the scope
  /// throws that error instead.
  ///
  /// ```swift
  /// scope.cancelAll(withError: QuotaExceeded())
  /// ```
  ///
  /// - Parameter error: The reason; see ``AdvancedOperation/cancel(withError:)``.
  public func cancelAll(withError error: any Error) { queue.cancelAllOperations(withError: error) }

  /// Attaches an observer to each operation that is added to the scope from now on.
  ///
  /// The observer is also attached to operations that run because of them: children of groups, prerequisites
  /// of conditions, and the operations of scopes in their bodies.
  ///
  /// ```swift
  /// scope.addObserver(LogObserver { line in logger.info(line) })
  /// ```
  ///
  /// - Parameter observer: The observer, which is retained until the scope has ended or the observer is
  ///   removed.
  /// - Returns: The attachment. If you call its `remove()`, operations that are added later don't get the
  ///   observer. Earlier operations keep it.
  @discardableResult
  public func addObserver(_ observer: any OperationObserver) -> OperationObservation {
    queue.addObserver(observer)
  }

  /// The environment of the operations in the scope.
  public var environment: OperationEnvironment { queue.environment }
}
