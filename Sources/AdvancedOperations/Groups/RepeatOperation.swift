import CoreOperations

/// An operation that creates and runs other operations, one after the other.
///
/// ```swift
/// let poll = RepeatOperation(every: .seconds(60)) { round in
///   ResultOperation(name: "poll") { try await inbox.fetch() }
/// }
/// poll.mapRoundErrors { _, error in error is Offline ? nil : error }
/// queue.addOperation(poll)
/// ```
///
/// The repeat operation ends after a number of rounds, when the closure returns no operation, when a round
/// failed, or when it is cancelled. A round has ended when its operation and all operations that it has
/// produced have finished, and none of their code is running any more. A skipped operation counts as a round.
/// A round that failed or was cancelled by other code is the last round, as in a loop whose body throws. The
/// errors of this round become errors of the repeat operation, with the origin
/// ``OperationFailure/Origin/child(_:_:)``. To continue after such a round, set ``mapRoundErrors(_:)``.
///
/// Two minimum times separate the rounds. If you pass both, both apply:
///
/// - `every:` is the time from the actual beginning of one round to the beginning of the next. A
///   round that takes longer is followed by the next one immediately.
/// - `pause:` is the time from the end of one round to the beginning of the next, however long the
///   round took.
///
/// A wait may end late, because the machine slept or because the processors were busy. After such a wait the
/// round begins late, and all later rounds are delayed with it. Missed rounds aren't made up for, and rounds
/// never begin closer together than these times.
///
/// If the rounds are instances of ``ResultOperation``, so is the repeat operation. Its
/// ``ResultOperation/value`` is the value of the last round that succeeded, or nil if no round succeeded. If
/// the closure returns nil before it returns an operation, Swift 6.3 needs the type: `{ round ->
/// ResultOperation<Int>? in … }`.
///
/// Rounds take no slot of the queue that the repeat operation is in. The repeat operation keeps its own slot
/// and its claims until it ends. If you set a number of rounds, the progress of the repeat operation is the
/// number of rounds that have ended. If the repeat operation is cancelled, the current round is cancelled with
/// the same reason, or the wait for the next round ends.
public final class RepeatOperation<Output: Sendable>: ResultOperation<Output>, @unchecked Sendable {
  // Sendable: `hook` has a lock, and the other properties are immutable.
  private typealias Make = @Sendable (_ round: Int) -> MadeOperation<Output>?

  private let own = OperationRounds()
  private let times: Int?
  private let interval: Duration
  private let rest: Duration
  private let hook = Locked<StoredClosure<ChildErrors.Hook>?>(nil)

  /// Creates an operation whose value comes from the last round that succeeded.
  ///
  /// The value is nil if no round succeeded. If the closure has several statements, write its return type, as
  /// in `{ round -> ResultOperation<Int>? in … }`. Otherwise the compiler chooses the initializer without
  /// values.
  ///
  /// - Parameters:
  ///   - name: The name of the operation.
  ///   - times: The number of rounds; unlimited by default.
  ///   - interval: The shortest time from the actual beginning of one round to the beginning of the next, by
  ///     the clock of the environment.
  ///   - pause: The shortest time from the end of one round to the beginning of the next.
  ///   - make: A closure that receives the number of the round, 1 for the first, and returns a new operation
  ///     for it, or nil to end. The operation isn't in a queue yet, and its predecessors that aren't in a
  ///     queue run with it. The closure is called in a task, while no lock is held, with the task-locals of
  ///     the task that created the repeat operation. It is released when the repeat operation has finished.
  /// - Precondition: The number isn't negative.
  public convenience init<Value>(
    name: String? = nil,
    times: Int? = nil,
    every interval: Duration = .zero,
    pause: Duration = .zero,
    make: @escaping @Sendable (_ round: Int) -> ResultOperation<Value>?
  ) where Output == Value? {
    self.init(name, times, interval, pause, nil) { round in
      make(round).map { MadeOperation(round: $0) }
    }
  }

  /// Creates an operation whose rounds may be operations of any kind, without values.
  ///
  /// - Parameters:
  ///   - name: The name of the operation.
  ///   - times: The number of rounds; unlimited by default.
  ///   - interval: The shortest time from the actual beginning of one round to the beginning of the next, by
  ///     the clock of the environment.
  ///   - pause: The shortest time from the end of one round to the beginning of the next.
  ///   - make: A closure that receives the number of the round, 1 for the first, and returns a new operation
  ///     for it, or nil to end. The operation isn't in a queue yet, and its predecessors that aren't in a
  ///     queue run with it. The closure is called in a task, while no lock is held, with the task-locals of
  ///     the task that created the repeat operation. It is released when the repeat operation has finished.
  /// - Precondition: The number isn't negative.
  @_disfavoredOverload
  public convenience init(
    name: String? = nil,
    times: Int? = nil,
    every interval: Duration = .zero,
    pause: Duration = .zero,
    make: @escaping @Sendable (_ round: Int) -> AdvancedOperation?
  ) where Output == Void {
    self.init(name, times, interval, pause, ()) { round in
      make(round).map { MadeOperation(any: $0) }
    }
  }

  private init(
    _ name: String?,
    _ times: Int?,
    _ interval: Duration,
    _ rest: Duration,
    _ initial: Output,
    _ make: @escaping Make
  ) {
    if let times, times < 0 {
      trap(
        "RepeatOperation “\(name ?? "")” was created with \(times) rounds. "
          + "Give a number from 0 up, or nil for any number."
      )
    }
    self.times = times
    self.interval = interval
    self.rest = rest
    super.init(name: name) { try await RepeatOperation.running().repeats(initial, make) }
    run(childrenBy: own)
  }

  /// Maps the errors of rounds, before the operation ends with them.
  ///
  /// A later call replaces the closure of an earlier call. The closure receives each error as it was thrown.
  /// An error that passed through another operation is an ``OperationFailure``: use
  /// ``OperationFailure/first(_:)`` to search it for an error type.
  ///
  /// - Parameter transform: A closure that returns the error to end with, or nil to continue with the next
  ///   round. The closure is called once for each error when the round has finished, in a task, while no lock
  ///   is held.
  public func mapRoundErrors(
    _ transform: @escaping @Sendable (AdvancedOperation, any Error) -> (any Error)?
  ) {
    exchangeHook(StoredClosure(transform))
  }

  private func repeats(_ initial: Output, _ make: Make) async throws -> Output {
    let clock = environment.clock
    var round = 1
    var last = initial
    while !isOver, round <= times ?? .max {
      // The last pause may have ended late. Rounds that were missed in the meantime aren't made up for.
      let begin = clock.now
      guard let made = make(round) else { break }
      let failures = await own.run(made.operation, of: self)
      // The errors that the hook didn't remove.
      let elements = failures.all.inChild(made.operation, hook.withLock { $0 }?.call)
      if let times { updateProgress(completed: Int64(round), total: Int64(times)) }
      if !elements.isEmpty { throw BodyFailure(elements: elements) }
      // A round that was skipped, or that failed and was recovered from, has no value.
      if let value = try? made.value() { last = value }
      if round == times { break }
      let next = max(begin.saturatingAdding(interval), clock.now.saturatingAdding(rest))
      guard await pause(until: next, after: .endedRound(round)) else { break }
      round += 1
    }
    return last
  }

  private func exchangeHook(_ new: StoredClosure<ChildErrors.Hook>?) {
    let old = hook.withLock { exchange(&$0, with: new) }
    withExtendedLifetime(old) {}
  }

  override func releaseResources() {
    super.releaseResources()
    exchangeHook(nil)
  }
}

extension MadeOperation {
  /// Wraps a round whose value is optional, because no round may have a value.
  fileprivate init<Wrapped>(round operation: ResultOperation<Wrapped>) where Value == Wrapped? {
    let made = MadeOperation<Wrapped>(giving: operation)
    self.init(operation: operation, value: { try made.value() })
  }
}
