import CoreOperations

/// An operation that runs a new operation for each attempt, until one succeeds or the retry policy gives up.
///
/// ```swift
/// let upload = RetryOperation(retry: .exponential(.seconds(1)).jittered().attempts(5)) {
///   attempt in
///   let upload = Upload(to: mirrors[attempt % mirrors.count])
///   upload.addCondition(BlockCondition("online") { await network.isReachable })
///   return upload
/// }
/// queue.addOperation(upload)
/// ```
///
/// Use it to repeat whole operations, including groups, with their conditions, claims and observers. To
/// repeat one async body, `retry:` of ``ResultOperation`` costs less.
///
/// If the closure returns a ``ResultOperation``, the ``ResultOperation/value`` of the retry operation is the
/// value of the attempt that succeeded. You can use the value with `then` and `after:`.
///
/// ```swift
/// let page = RetryOperation(name: "page", retry: .immediate.attempts(3)) { attempt in
///   ResultOperation(name: "attempt") { try await servers[attempt % 2].download() }
/// }
/// let length = page.then { text in text.count }
/// ```
///
/// An attempt ends when its operation and all operations that it has produced have finished, and none of
/// their code is running any more. The outcome of an attempt is the outcome of its operation alone:
///
/// - After an attempt that succeeds, no other attempt follows. The retry operation ends without an error,
///   unless an operation that the attempt has produced failed.
/// - A skipped attempt ends the retry operation as skipped if the closure returns a ``ResultOperation``.
///   Otherwise the retry operation ends without an error.
/// - An attempt that fails, or that other code cancels, is a failed attempt. The policy gets its error, and
///   decides whether and when another attempt follows.
///
/// The policy gets the root cause of the failure. The error is an ``OperationTimeout`` if the attempt took
/// too long, and `CancellationError` after a cancel without a reason. If there are several root causes, the
/// error is an ``OperationFailure``.
///
/// If the policy gives up, the retry operation fails with the errors of the attempts, each with the origin
/// ``OperationFailure/Origin/attempt(_:_:)``. Of many attempts, it keeps the errors of the first 8 and the
/// last 8.
///
/// If an operation that a successful attempt has produced fails, the attempt isn't repeated. Instead, the
/// retry operation fails with the error of the produced operation. To repeat a produced operation, give it
/// its own retry policy.
///
/// Attempts take no slot of the retry operation's queue. By default, the retry operation keeps its slot and
/// its claims until it ends. With ``RetryPolicy/releasingSlot()``, the retry operation releases both after
/// each failed attempt, and acquires both again before the next attempt.
///
/// The progress of an attempt is the progress of the retry operation. If the retry operation is cancelled,
/// the current attempt is cancelled with the same reason, or the wait for the next attempt ends.
public final class RetryOperation<Output: Sendable>: ResultOperation<Output>, @unchecked Sendable {
  // Sendable: all stored properties are immutable.
  private let own = OperationRounds(passingProgress: true)
  private let policy: RetryPolicy

  /// Creates an operation whose attempts return a value.
  ///
  /// - Parameters:
  ///   - name: The name of the operation.
  ///   - policy: The policy that decides whether and when another attempt follows a failed one.
  ///   - make: A closure that gets the number of the attempt, 1 for the first, and returns a new operation
  ///     for it, which isn't in a queue yet. Predecessors that aren't in a queue run with the operation. The
  ///     closure is called in a task, while no lock is held, with the task-locals of the task that created
  ///     the retry operation. It is released when the retry operation has finished.
  public convenience init(
    name: String? = nil,
    retry policy: RetryPolicy,
    make: @escaping @Sendable (_ attempt: Int) -> ResultOperation<Output>
  ) {
    self.init(name, policy) { MadeOperation(giving: make($0)) }
  }

  /// Creates an operation whose attempts are operations of any kind and return no value.
  ///
  /// - Parameters:
  ///   - name: The name of the operation.
  ///   - policy: The policy that decides whether and when another attempt follows a failed one.
  ///   - make: A closure that gets the number of the attempt, 1 for the first, and returns a new operation
  ///     for it, which isn't in a queue yet. Predecessors that aren't in a queue run with the operation. The
  ///     closure is called in a task, while no lock is held, with the task-locals of the task that created
  ///     the retry operation. It is released when the retry operation has finished.
  @_disfavoredOverload
  public convenience init(
    name: String? = nil,
    retry policy: RetryPolicy,
    make: @escaping @Sendable (_ attempt: Int) -> AdvancedOperation
  ) where Output == Void {
    self.init(name, policy) { MadeOperation(any: make($0)) }
  }

  private init(
    _ name: String?,
    _ policy: RetryPolicy,
    _ make: @escaping @Sendable (_ attempt: Int) -> MadeOperation<Output>
  ) {
    self.policy = policy
    super.init(name: name) { try await RetryOperation.running().attempts(make) }
    run(childrenBy: own)
  }

  private func attempts(
    _ make: @Sendable (_ attempt: Int) -> MadeOperation<Output>
  ) async throws -> Output {
    try await attempts(policy) { number, limit in
      if isOver { return .failure(BodyFailure(elements: [])) }
      let made = make(number)
      let failures = await own.run(made.operation, of: self, until: limit)
      guard failures.own.isEmpty, !isCancelled else {
        return .failure(BodyFailure(own: failures.own, produced: failures.produced))
      }
      if failures.produced.isEmpty { return .success(try made.value()) }
      // The attempt itself succeeded, and repeating it would do its work twice.
      throw BodyFailure(
        elements: failures.produced.map { $0.within(.attempt(number)) }
      )
    }
  }
}
