public import CoreOperations

/// Runs operations for as long as a closure runs, and waits for all of them.
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
/// Nothing that runs in the scope outlives it: it returns when every operation in it is quiet, also
/// those that were produced there, and completion blocks have returned. Cancelling the task cancels
/// all of them. An operation that fails doesn't cancel its siblings; when the closure throws, what
/// still runs is cancelled with that error as the reason.
///
/// The operations are in a queue of the scope's own, without threads of its own.
///
/// - Parameters:
///   - maxConcurrentOperationCount: How many operations of the scope may execute at once; as many
///     as there are threads unless given.
///   - environment: The environment of the operations in the scope. Unless given, it is that of
///     `AdvancedOperation.current`, with its clock, its claims and the observers of its queue; a
///     new one outside of any operation.
///   - body: Adds operations, and may await them. Called once, where the caller runs.
/// - Returns: What the closure returned.
/// - Throws: What the closure throws. When it returned and operations have failed, an
///   ``OperationFailure`` with root causes once, each below
///   ``OperationFailure/Origin/child(_:_:)``, and the number of operations that didn't run because
///   of them; a plain `cancel()` of an operation is no error. Of many that have failed, it has the
///   errors of the first and the last 64, and its texts say how many others there were.
///   `CancellationError` when the task was cancelled, that cut an operation short, and nothing else
///   went wrong.
@discardableResult
public func withOperations<R: Sendable>(
  maxConcurrentOperationCount: Int = OperationQueue.defaultMaxConcurrentOperationCount,
  environment: OperationEnvironment? = nil,
  _ body: (OperationScope) async throws -> R
) async throws -> R {
  let queue = ScopeQueue(
    maxConcurrentOperationCount: maxConcurrentOperationCount,
    environment: environment ?? .ofCaller
  )
  queue.opener = AdvancedOperation.current
  // An operation whose code this is can't end before what it adds.
  let wait = try OwnWaits.begin(for: .queue(queue))
  defer { OwnWaits.end(wait) }
  return try await withTaskCancellationHandler {
    do {
      let value = try await body(OperationScope(queue: queue))
      await queue.close()
      try queue.checkOutcomes()
      return value
    } catch {
      // Nothing is left to stop when it comes from the outcomes.
      queue.stop(reason: error)
      await queue.close()
      throw error
    }
  } onCancel: {
    queue.stop(reason: CancellationError())
  }
}

/// Where operations are added in `withOperations`.
///
/// ```swift
/// try await withOperations { scope in
///   for mirror in mirrors { scope.add(Probe(mirror)) }
/// }
/// ```
///
/// Copies are the same scope. It can be used from any thread, also from the operations in it.
public struct OperationScope: Sendable {
  let queue: ScopeQueue

  /// Adds an operation, which may start at once.
  ///
  /// If the task of the scope was cancelled, the operation is cancelled on arrival. If the closure
  /// has returned as well, or has thrown, the scope doesn't wait for the operation, which is
  /// cancelled and finishes.
  ///
  /// - Parameter operation: In no queue yet.
  /// - Returns: The operation.
  /// - Precondition: The scope has not ended by itself.
  @discardableResult
  public func add<T: Operation>(_ operation: T) -> T {
    queue.addOperation(operation)
    return operation
  }

  /// Cancels all operations in the scope, without a reason; more may be added afterwards.
  ///
  /// That is no error: what is not needed any more is got rid of in this way.
  public func cancelAll() { queue.cancelAllOperations() }

  /// Cancels all operations in the scope with a reason; more may be added afterwards.
  ///
  /// The reason is an error of each operation that it cuts short, and so of the scope, unless the
  /// closure throws another one.
  ///
  /// ```swift
  /// scope.cancelAll(withError: QuotaExceeded())
  /// ```
  ///
  /// - Parameter error: The reason; see ``AdvancedOperation/cancel(withError:)``.
  public func cancelAll(withError error: any Error) { queue.cancelAllOperations(withError: error) }

  /// Attaches an observer to each operation that is added to the scope from now on.
  ///
  /// It is also attached to what runs because of them: children of groups, prerequisites of
  /// conditions, and the operations of scopes in their bodies.
  ///
  /// ```swift
  /// scope.addObserver(LogObserver { line in logger.info(line) })
  /// ```
  ///
  /// - Parameter observer: Retained until the scope has ended, or the observer is removed.
  /// - Returns: The attachment. Its `remove()` takes the observer from operations that are added
  ///   later; those that were added before keep it.
  @discardableResult
  public func addObserver(_ observer: any OperationObserver) -> OperationObservation {
    queue.addObserver(observer)
  }

  /// The environment of the operations in the scope.
  public var environment: OperationEnvironment { queue.environment }
}
