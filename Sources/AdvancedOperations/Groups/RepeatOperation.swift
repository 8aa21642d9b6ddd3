import CoreOperations

/// An operation that makes others, one after the other.
///
/// ```swift
/// let poll = RepeatOperation(every: .seconds(60)) { round in
///   ResultOperation(name: "poll") { try await inbox.fetch() }
/// }
/// poll.mapRoundErrors { _, error in error is Offline ? nil : error }
/// queue.addOperation(poll)
/// ```
///
/// It ends after a number of rounds, when there is no operation for another one, when a round
/// failed, or when it is cancelled. A round has ended when its operation, and all that this has
/// produced, are quiet; one that was skipped is a round like others. A round that failed, or that
/// was cancelled by other code, is the last one, as in a loop whose body throws: its errors are
/// those of the repeat operation, with the origin ``OperationFailure/Origin/child(_:_:)``. Set
/// ``mapRoundErrors(_:)`` to go on nonetheless.
///
/// Two times keep the rounds apart. If both are given, both apply:
///
/// - `every:` is the time from the actual beginning of one round to the beginning of the next. A
///   round that takes longer is followed by the next one immediately.
/// - `pause:` is the time from the end of one round to the beginning of the next, however long the
///   round took.
///
/// A wait may end late, because the machine slept or because the processors were busy. Then the
/// round begins late, and all later rounds move with it. Rounds that were missed aren't made up
/// for, and rounds never begin closer together than these times.
///
/// Where the rounds are instances of ``ResultOperation``, the repeat operation is one as well: its
/// ``ResultOperation/value`` is that of the last round that succeeded, and nil when none did.
/// (Where the closure returns nil before it returns an operation, Swift 6.3 has to be told the
/// type: `{ round -> ResultOperation<Int>? in … }`.)
///
/// Rounds take no slot of the queue that the repeat operation is in; it keeps its own, and its
/// claims, until the end. Its progress is the number of rounds that have ended, when there is a
/// number. A cancel cancels the round that is going on with the same reason, or ends the wait for
/// the next one.
public final class RepeatOperation<Output: Sendable>: ResultOperation<Output>, @unchecked Sendable {
  // Sendable: `hook` has a lock, all else is immutable.
  private typealias Make = @Sendable (_ round: Int) -> MadeOperation<Output>?

  private let own = OperationRounds()
  private let times: Int?
  private let interval: Duration
  private let rest: Duration
  private let hook = Locked<StoredClosure<ChildErrors.Hook>?>(nil)

  /// Creates an operation whose rounds give values, of which it gives the last.
  ///
  /// The value is that of the last round that succeeded; nil if none did. If the closure has several
  /// statements, write what it returns, as in `{ round -> ResultOperation<Int>? in … }`. The compiler
  /// chooses the initializer without values otherwise.
  ///
  /// - Parameters:
  ///   - name: What the operation is called.
  ///   - times: How many rounds there are; any number unless given.
  ///   - interval: The shortest time from the actual beginning of one round to the beginning of the
  ///     next, by the clock of the environment.
  ///   - pause: The shortest time from the end of one round to the beginning of the next.
  ///   - make: Gets the number of the round, 1 for the first; returns a new operation for it, in no
  ///     queue yet, which is run with its predecessors that are in none either; or nil to end.
  ///     Called in a task, without a lock held, with the task-locals of the task that created the
  ///     repeat operation. Released when that has finished.
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

  /// Creates an operation whose rounds give no value: operations of any kind.
  ///
  /// - Parameters:
  ///   - name: What the operation is called.
  ///   - times: How many rounds there are; any number unless given.
  ///   - interval: The shortest time from the actual beginning of one round to the beginning of the
  ///     next, by the clock of the environment.
  ///   - pause: The shortest time from the end of one round to the beginning of the next.
  ///   - make: Gets the number of the round, 1 for the first; returns a new operation for it, in no
  ///     queue yet, which is run with its predecessors that are in none either; or nil to end.
  ///     Called in a task, without a lock held, with the task-locals of the task that created the
  ///     repeat operation. Released when that has finished.
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
        "RepeatOperation “\(name ?? "")” was made with \(times) rounds. "
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
  /// A later call replaces the closure of an earlier one. The errors are as they were thrown. One
  /// that came through another operation is an ``OperationFailure``: ask that with
  /// ``OperationFailure/first(_:)``.
  ///
  /// - Parameter transform: Called once for each error when the round has finished, in a task,
  ///   without a lock held. Returns the error to end with, or nil to continue with the next round.
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
      // The last pause may have ended late. Rounds that were missed meanwhile aren't made up for.
      let begin = clock.now
      guard let made = make(round) else { break }
      let failures = await own.run(made.operation, of: self)
      // What is left when the hook has seen them.
      let elements = failures.all.inChild(made.operation, hook.withLock { $0 }?.call)
      if let times { updateProgress(completed: Int64(round), total: Int64(times)) }
      if !elements.isEmpty { throw BodyFailure(elements: elements) }
      // A round that was skipped, or has failed and was recovered from, has none.
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
  /// A round, of which there may be none with a value.
  fileprivate init<Wrapped>(round operation: ResultOperation<Wrapped>) where Value == Wrapped? {
    let made = MadeOperation<Wrapped>(giving: operation)
    self.init(operation: operation, value: { try made.value() })
  }
}
