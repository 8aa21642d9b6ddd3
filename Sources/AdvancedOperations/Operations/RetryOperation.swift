import CoreOperations

/// An operation that makes another one, and makes it again when that fails, as a policy says.
///
/// ```swift
/// let upload = RetryOperation(retry: .exponential(.seconds(1), jitter: true, attempts: 5)) { attempt in
///   let upload = Upload(to: mirrors[attempt % mirrors.count])
///   upload.addCondition(BlockCondition("online") { await network.isReachable })
///   return upload
/// }
/// queue.addOperation(upload)
/// ```
///
/// Use it for whole operations, with their conditions, claims and observers, groups included; to run
/// one async body again, `retry:` of ``ResultOperation`` costs less.
///
/// An attempt has ended when its operation, and all that this has produced, are quiet. One that
/// succeeded or was skipped ends the retry operation without an error. One that failed, or that
/// somebody cancelled, is a failed attempt: the policy gets its error (an ``OperationTimeout`` if it
/// took too long, `CancellationError` after a plain cancel, an ``OperationFailure`` when there are
/// several) and says whether and when there is another one. When it gives up, the errors of all
/// attempts are errors of the retry operation, each with the origin
/// ``OperationFailure/Origin/attempt(_:_:)``.
///
/// Attempts take no slot of the queue that the retry operation is in; it keeps its own, and its claims,
/// until the end. The progress of an attempt is that of the retry operation. A cancel cancels the
/// attempt that is going on with the same reason, or ends the wait for the next one.
public final class RetryOperation: AdvancedOperation, @unchecked Sendable {
  // Sendable: `body` has a lock.
  private let number = ObjectNumber()
  private let policy: RetryPolicy
  private let body: RoundsBody<AdvancedOperation>

  /// Creates an operation.
  ///
  /// - Parameters:
  ///   - name: What the operation is called.
  ///   - policy: Whether and when another attempt follows a failed one.
  ///   - make: Gets the number of the attempt, 1 for the first; returns a new operation for it, in no
  ///     queue yet. Called in a task, without a lock held, with the task-locals of the task that
  ///     created the retry operation. Released when that has finished.
  public init(
    name: String? = nil,
    retry policy: RetryPolicy,
    make: @escaping @Sendable (_ attempt: Int) -> AdvancedOperation
  ) {
    self.policy = policy
    body = RoundsBody(make)
    super.init()
    if let name { self.name = name }
  }

  deinit { releaseResources() }

  /// Begins the first attempt.
  public override func execute() {
    body.execute(self) { rounds, make in await self.run(rounds, make) }
  }

  private func run(
    _ rounds: OperationRounds,
    _ make: @Sendable (_ attempt: Int) -> AdvancedOperation
  ) async {
    let environment = environment
    let clock = environment.clock
    var run = RetryRun(policy, now: clock.now)
    while !isCancelled, outcome == nil {
      let number = run.number
      let limit = run.limit(now: clock.now)
      let failures = await rounds.run(make(number), of: self, until: limit)
      if failures.isEmpty { break }
      run.record(failures)
      if isCancelled { break }
      switch run.next(after: failures, now: clock.now, random: environment.random) {
      case .giveUp:
        finish(withElements: run.elements)
        return
      case .attempt(let time):
        await rounds.pause(until: time, clock, after: .failedAttempt(number, failures))
      }
    }
    finish(withElements: isCancelled ? run.elements : [])
  }

  /// That the operation finishes when the attempt has ended.
  public override var cancellationPolicy: CancellationPolicy { .whenFinishIsCalled }

  override func exchangeCaptured(_ new: CapturedTask?) -> CapturedTask? {
    body.exchangeCaptured(new)
  }

  override var parentNumber: ObjectNumber? { number }
  override var openChildren: [Operation] { body.openChildren }
  override var pause: OperationPause? { body.pause }
  override func stopBody() { body.stop(reason: cancellationReason) }

  override func child(
    _ child: AdvancedOperation,
    didUpdateProgress update: OperationProgressUpdate
  ) -> ProgressNews? { body.isRound(child) ? says(update) : nil }

  override func adopt(_ operation: AdvancedOperation) -> Bool { body.adopt(operation, of: self) }
  override func releaseResources() { body.release() }
}
