import CoreOperations

/// An operation that makes another one, and makes it again when that fails, as a policy says.
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
/// Use it for whole operations, with their conditions, claims and observers, groups included; to
/// run one async body again, `retry:` of ``ResultOperation`` costs less.
///
/// Where the attempts are instances of ``ResultOperation``, the retry operation is one as well: its
/// ``ResultOperation/value`` is that of the attempt that succeeded, and `then` and `after:` take
/// it.
///
/// ```swift
/// let page = RetryOperation(name: "page", retry: .immediate.attempts(3)) { attempt in
///   ResultOperation(name: "attempt") { try await servers[attempt % 2].download() }
/// }
/// let length = page.then { text in text.count }
/// ```
///
/// An attempt has ended when its operation, and all that this has produced, are quiet. The policy is
/// asked about the operation alone: an attempt that succeeded isn't repeated because something that
/// it has produced failed. Give that a retry policy of its own. Its failure is an error of the retry
/// operation.
///
/// - One that succeeded ends the retry operation without an error.
/// - One that was skipped and would have given a value ends it as skipped; one of another kind ends
///   it without an error.
/// - One that failed, or that was cancelled by other code, is a failed attempt: the policy gets its
///   error (the root cause; an ``OperationTimeout`` if it took too long, `CancellationError` after a
///   plain cancel, an ``OperationFailure`` when there are several) and says whether and when another one follows.
///   When the policy gives up, the errors of the attempts are errors of the retry operation, each
///   with the origin ``OperationFailure/Origin/attempt(_:_:)``; of many, those of the first and the
///   last 8.
///
/// Attempts take no slot of the queue that the retry operation is in; it keeps its own, and its
/// claims, until the end, or until an attempt has failed if the policy is
/// ``RetryPolicy/releasingSlot()``. The progress of an attempt is that of the retry operation. A
/// cancel cancels the attempt that is going on with the same reason, or ends the wait for the next
/// one.
public final class RetryOperation<Output: Sendable>: ResultOperation<Output>, @unchecked Sendable {
  // Sendable: all stored properties are immutable.
  private let own = OperationRounds(passingProgress: true)
  private let policy: RetryPolicy

  /// Creates an operation whose attempts give a value.
  ///
  /// - Parameters:
  ///   - name: What the operation is called.
  ///   - policy: Whether and when another attempt follows a failed one.
  ///   - make: Gets the number of the attempt, 1 for the first; returns a new operation for it, in
  ///     no queue yet, which is run with its predecessors that are in none either. Called in a
  ///     task, without a lock held, with the task-locals of the task that created the retry
  ///     operation. Released when that has finished.
  public convenience init(
    name: String? = nil,
    retry policy: RetryPolicy,
    make: @escaping @Sendable (_ attempt: Int) -> ResultOperation<Output>
  ) {
    self.init(name, policy) { MadeOperation(giving: make($0)) }
  }

  /// Creates an operation whose attempts give no value: operations of any kind.
  ///
  /// - Parameters:
  ///   - name: What the operation is called.
  ///   - policy: Whether and when another attempt follows a failed one.
  ///   - make: Gets the number of the attempt, 1 for the first; returns a new operation for it, in
  ///     no queue yet, which is run with its predecessors that are in none either. Called in a
  ///     task, without a lock held, with the task-locals of the task that created the retry
  ///     operation. Released when that has finished.
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
      // The attempt itself was good, and repeating it would do its work twice.
      throw BodyFailure(
        elements: failures.produced.map { $0.within(.attempt(number)) }
      )
    }
  }
}
