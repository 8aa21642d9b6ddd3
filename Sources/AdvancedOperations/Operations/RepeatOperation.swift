import CoreOperations

/// An operation that makes others, one after the other.
///
/// ```swift
/// let poll = RepeatOperation(times: nil, every: .seconds(60)) { round in
///   ResultOperation(name: "poll") { try await inbox.fetch() }
/// }
/// poll.onRoundError { _, error in error is Offline ? nil : error }
/// queue.addOperation(poll)
/// ```
///
/// It ends after a number of rounds, when there is no operation for another one, when a round failed,
/// or when it is cancelled. A round has ended when its operation, and all that this has produced, are
/// quiet; one that was skipped is a round like others. A round that failed, or that somebody cancelled,
/// is the last one, as in a loop whose body throws: its errors are those of the repeat operation, with
/// the origin ``OperationFailure/Origin/child(_:_:)``. Set ``onRoundError(_:)`` to go on nonetheless.
///
/// Rounds take no slot of the queue that the repeat operation is in; it keeps its own, and its claims,
/// until the end. Its progress is the number of rounds that have ended, when there is a number. A cancel
/// cancels the round that is going on with the same reason, or ends the wait
/// for the next one.
public final class RepeatOperation: AdvancedOperation, @unchecked Sendable {
  // Sendable: `body` and `hook` have locks.
  private typealias Hook = @Sendable (AdvancedOperation, any Error) -> (any Error)?

  private let number = ObjectNumber()
  private let times: Int?
  private let interval: Duration
  private let body: RoundsBody<AdvancedOperation?>
  private let hook = Locked<Hook?>(nil)

  /// Creates an operation.
  ///
  /// - Parameters:
  ///   - name: What the operation is called.
  ///   - times: How many rounds there are; nil for any number.
  ///   - interval: From the beginning of one round to the beginning of the next, by the clock of the
  ///     environment. A round that takes longer is followed by the next one at once, and what was
  ///     missed isn't made up for; so is each round when the interval isn't positive.
  ///   - make: Gets the number of the round, 1 for the first; returns a new operation for it, in no
  ///     queue yet, or nil to end. Called in a task, without a lock held, with the task-locals of the
  ///     task that created the repeat operation. Released when that has finished.
  /// - Precondition: The number isn't negative.
  public init(
    name: String? = nil,
    times: Int?,
    every interval: Duration = .zero,
    make: @escaping @Sendable (_ round: Int) -> AdvancedOperation?
  ) {
    if let times, times < 0 {
      trap(
        "RepeatOperation “\(name ?? "")” was made with \(times) rounds. "
          + "Give a number from 0 up, or nil for any number."
      )
    }
    self.times = times
    self.interval = interval
    body = RoundsBody(make)
    super.init()
    if let name { self.name = name }
  }

  deinit { releaseResources() }

  /// Sets what becomes of the errors of rounds.
  ///
  /// - Parameter hook: Called once for each error when the round has ended, in a task, without a lock
  ///   held. Returns the error to record, or nil when that is no reason to end.
  public func onRoundError(
    _ hook: @escaping @Sendable (AdvancedOperation, any Error) -> (any Error)?
  ) {
    exchangeHook(hook)
  }

  /// Begins the first round.
  public override func execute() {
    body.execute(self) { rounds, make in await self.run(rounds, make) }
  }

  private func run(
    _ rounds: OperationRounds,
    _ make: @Sendable (_ round: Int) -> AdvancedOperation?
  ) async {
    let clock = environment.clock
    var round = 1
    var begin = clock.now
    var elements: [OperationFailure.Element] = []
    while !isCancelled, outcome == nil, round <= times ?? .max, let operation = make(round) {
      let failures = await rounds.run(operation, of: self)
      let hook = self.hook.withLock { $0 }
      elements = failures.compactMap { failure in
        var element = failure.inChild(operation.label)
        if let hook {
          guard let error = hook(operation, failure.error) else { return nil }
          element.error = error
        }
        return element
      }
      if let times { updateProgress(completed: Int64(round), total: Int64(times)) }
      if !elements.isEmpty || round == times { break }
      begin = max(begin.saturatingAdding(interval), clock.now)
      await rounds.pause(until: begin, clock, after: .endedRound(round))
      round += 1
    }
    finish(withElements: elements)
  }

  /// That the operation finishes when the round has ended.
  public override var cancellationPolicy: CancellationPolicy { .whenFinishIsCalled }

  private func exchangeHook(_ new: Hook?) {
    let old = hook.withLock { hook in
      defer { hook = new }
      return hook
    }
    withExtendedLifetime(old) {}
  }

  override func exchangeCaptured(_ new: CapturedTask?) -> CapturedTask? {
    body.exchangeCaptured(new)
  }

  override var parentNumber: ObjectNumber? { number }
  override var openChildren: [Operation] { body.openChildren }
  override var pause: OperationPause? { body.pause }
  override func stopBody() { body.stop(reason: cancellationReason) }
  override func adopt(_ operation: AdvancedOperation) -> Bool { body.adopt(operation, of: self) }

  override func releaseResources() {
    body.release()
    exchangeHook(nil)
  }
}
