import CoreOperations

/// Counts the failures of operations that use the same thing, and gives that thing a rest after too
/// many.
///
/// Attach ``CircuitClosed`` to every operation that uses the thing; the breaker observes the
/// operation from then on:
///
/// ```swift
/// let breaker = CircuitBreaker(failures: 5, cooldown: .seconds(30))
/// for call in calls {
///   call.addCondition(CircuitClosed(breaker))
/// }
/// ```
///
/// An operation to which the breaker is only attached as an observer is counted, and runs whatever
/// the state of the circuit is. However often it is attached to an operation, that counts once.
///
/// - *Closed*: all may run. So many failures with no success in between open the circuit.
/// - *Open*: none may run until the cooldown is over, by the clock of the environment of the
///   operation that opened it.
/// - *Half open*: one may run, as a *probe*. When it succeeds the circuit is closed; when it fails
///   the circuit is open again, for a whole cooldown. When it ends in any other way, the next one
///   may try.
///
/// An operation becomes the probe when it starts, with its slot and its claims. One that waits for
/// them keeps no other operation from trying, nor does one that is cancelled or whose conditions
/// fail before its start. A probe that has run for a whole cooldown without an end loses its place:
/// the next operation may try, and the end of the first one doesn't count any more. With a cooldown
/// of zero, a probe keeps its place until it ends.
///
/// What counts is how operations ended that executed: success, a failure, or a ``TimeoutObserver``
/// that ended them while they executed, which is a failure too. A body that ends its operation as
/// skipped is a success. So is a failure with no error that counts, because the thing has answered:
///
/// ```swift
/// let breaker = CircuitBreaker(failures: 5) { error in !(error is NotFound) }
/// ```
///
/// Other cancels, a time limit that doesn't count, and operations that failed or were skipped before
/// they executed, are neither. While the circuit isn't closed, only the probe's end counts.
///
/// All members can be used from any thread. No lock is held while a clock is read.
public final class CircuitBreaker: OperationObserver {
  /// Whether operations may run.
  public enum State: Sendable, Hashable, CaseIterable {
    /// All may.
    case closed
    /// None may, for now.
    case open
    /// One may, to try.
    case halfOpen
  }

  private let limit: Int
  private let cooldown: Duration
  private let counts: @Sendable (any Error) -> Bool
  private let circuit = Locked(Circuit())

  /// Creates a circuit that is closed.
  ///
  /// - Parameters:
  ///   - failures: The number of failures, with no success in between, that open the circuit.
  ///   - cooldown: The time for which the circuit stays open, and for which a probe may keep other
  ///     operations from trying.
  ///   - counts: Gets an error, and returns whether it is one of the thing that the breaker is for.
  ///     All errors count unless given. Called for the root causes of a failure, as
  ///     ``RetryPolicy/when(_:)`` is, until one counts; without a lock held.
  /// - Precondition: At least one failure, and a cooldown that isn't negative.
  public init(
    failures: Int,
    cooldown: Duration = .seconds(60),
    counts: @escaping @Sendable (_ error: any Error) -> Bool = { _ in true }
  ) {
    guard failures >= 1, cooldown >= .zero else {
      trap(
        "CircuitBreaker was made with \(failures) failures and a cooldown of \(cooldown.readable). "
          + "Give 1 failure or more, and a cooldown that isn't negative."
      )
    }
    limit = failures
    self.cooldown = cooldown
    self.counts = counts
  }

  /// The state of the circuit at this moment.
  public var state: State {
    guard let (clock, end) = circuit.withLock({ $0.cooldown }) else {
      return circuit.withLock { $0.isClosed } ? .closed : .halfOpen
    }
    return clock.now < end ? .open : .halfOpen
  }

  /// Remembers how an operation ended.
  public func operationDidFinish(_ operation: AdvancedOperation, outcome: OperationOutcome) {
    let id = ObjectIdentifier(self)
    let isFirst = operation.withCore { core in
      guard core.machine.hasStarted, core.extra?.breakers.contains(id) != true else { return false }
      core.makeExtra().breakers.append(id)
      return true
    }
    if isFirst { count(operation, outcome) }
  }

  private func count(_ operation: AdvancedOperation, _ outcome: OperationOutcome) {
    switch outcome {
    // A body that found nothing to do has been answered: HTTP 304, for instance.
    case .succeeded, .skipped: noteSuccess(of: operation)
    case .failed(let failure):
      if failure.decidingCauses.contains(where: counts) {
        noteFailure(of: operation)
      } else {
        noteSuccess(of: operation)
      }
    case .cancelled(let failure):
      let timeouts = failure.elements.filter { $0.origin == .timeout }
      if OperationFailure(elements: timeouts).decidingCauses.contains(where: counts) {
        noteFailure(of: operation)
      }
    }
  }

  private func noteSuccess(of operation: AdvancedOperation) {
    circuit.withLock { $0.succeeded(ObjectIdentifier(operation)) }
  }

  private func noteFailure(of operation: AdvancedOperation) {
    let limit = timeLimit(of: operation)
    circuit.withLock { $0.failed(ObjectIdentifier(operation), limit: self.limit, limit) }
  }

  /// The end of a cooldown that begins now, by the clock of an operation.
  private func timeLimit(of operation: AdvancedOperation) -> Circuit.TimeLimit {
    let clock = operation.environment.clock
    return (clock, clock.now.saturatingAdding(cooldown))
  }

  var isClosed: Bool { circuit.withLock { $0.isClosed } }

  /// Returns why an operation may not run; nil if it may as things are.
  func refusal(of operation: AdvancedOperation) -> CircuitClosed.Open? {
    decide(about: operation) { circuit, time in circuit.asked(operation, time) }
  }

  /// Makes an operation that starts the probe, if the circuit needs one.
  ///
  /// - Returns: Why the operation may not run; nil if it may.
  func admit(_ operation: AdvancedOperation) -> CircuitClosed.Open? {
    let limit = cooldown > .zero ? timeLimit(of: operation) : nil
    return decide(about: operation) { circuit, time in
      circuit.starts(operation, keepingOthersOutUntil: limit, time)
    }
  }

  /// An operation has ended, or doesn't start now: if it is the probe, another one may try.
  func withdraw(_ operation: AdvancedOperation) {
    let id = ObjectIdentifier(operation)
    circuit.withLock { $0.probeEnded(id) }
  }

  private func decide(
    about operation: AdvancedOperation,
    _ event: (inout Circuit, Circuit.Time) -> Circuit.Admission
  ) -> CircuitClosed.Open? {
    // The clock is read without the lock; the circuit may change in between.
    while true {
      let (version, limit) = circuit.withLock { ($0.version, $0.timeLimit) }
      let left = limit.map { $0.end.saturatingSubtracting($0.clock.now) }
      // The last reference to the probe may be this one, which isn't released under the lock.
      var probe: AdvancedOperation?
      let admission = circuit.withLock { circuit in
        probe = circuit.probe
        return event(&circuit, Circuit.Time(version: version, left: left))
      }
      withExtendedLifetime(probe) {}
      switch admission {
      case .admitted: return nil
      case .probe:
        // Whether or not it executes, and whether or not this observes it.
        operation.whenFinished { [weak self, weak operation] _ in
          if let operation { self?.withdraw(operation) }
        }
        return nil
      case .refused(let left): return CircuitClosed.Open(remaining: left)
      case .outdated: continue
      }
    }
  }
}

/// A circuit as a pure value.
private struct Circuit {
  typealias TimeLimit = (clock: OperationClock, end: Duration)

  private enum Phase {
    /// Exits: open.
    case closed(failures: Int)
    /// Until the cooldown ends. Exit: half open.
    case open(TimeLimit)
    /// Exits: closed, open.
    case halfOpen(Probe?)
  }

  /// The operation that tries; one that is gone without having run isn't one any more.
  private struct Probe {
    let id: ObjectIdentifier
    weak var operation: AdvancedOperation?
    /// When it doesn't keep others out any more; nil if it does until its end.
    let limit: TimeLimit?
  }

  /// What is known of the time.
  struct Time {
    /// The version of the circuit when its clock was read.
    let version: UInt64
    /// How much was left then until ``Circuit/timeLimit``; nil without one.
    let left: Duration?
  }

  enum Admission {
    case admitted
    /// As the one that tries.
    case probe
    /// For so long; nil when that depends on the probe.
    case refused(Duration?)
    /// The circuit has changed since its clock was read.
    case outdated
  }

  private var phase = Phase.closed(failures: 0) { didSet { version &+= 1 } }
  /// Another one after each change.
  private(set) var version: UInt64 = 0

  var isClosed: Bool {
    if case .closed = phase { true } else { false }
  }

  /// When it will be half open; nil unless it is open.
  var cooldown: TimeLimit? {
    if case .open(let cooldown) = phase { cooldown } else { nil }
  }

  /// When something changes with time alone; nil if nothing does.
  var timeLimit: TimeLimit? {
    switch phase {
    case .closed: nil
    case .open(let cooldown): cooldown
    case .halfOpen(let probe): probe?.limit
    }
  }

  /// The operation that tries at this moment.
  var probe: AdvancedOperation? {
    if case .halfOpen(let probe?) = phase { probe.operation } else { nil }
  }

  private func isProbe(_ id: ObjectIdentifier) -> Bool {
    if case .halfOpen(let probe?) = phase {
      probe.id == id && probe.operation != nil
    } else {
      false
    }
  }

  mutating func succeeded(_ id: ObjectIdentifier) {
    switch phase {
    case .closed: phase = .closed(failures: 0)
    case .open: return
    case .halfOpen: if isProbe(id) { phase = .closed(failures: 0) }
    }
  }

  mutating func failed(_ id: ObjectIdentifier, limit: Int, _ cooldown: TimeLimit) {
    switch phase {
    case .closed(let failures):
      phase = failures + 1 < limit ? .closed(failures: failures + 1) : .open(cooldown)
    case .open: return
    case .halfOpen: if isProbe(id) { phase = .open(cooldown) }
    }
  }

  /// The probe has ended; if that didn't decide anything, another may try.
  mutating func probeEnded(_ id: ObjectIdentifier) {
    if isProbe(id) { phase = .halfOpen(nil) }
  }

  /// An operation asks whether it may run.
  func asked(_ operation: AdvancedOperation, _ time: Time) -> Admission {
    if case .closed = phase { return .admitted }
    guard time.version == version else { return .outdated }
    switch phase {
    case .closed: return .admitted
    case .open:
      if let left = time.left, left > .zero { return .refused(left) }
    case .halfOpen:
      if isProbe(ObjectIdentifier(operation)) { return .admitted }
      let mayKeepOthersOut = time.left.map { $0 > .zero } ?? true
      if probe != nil, mayKeepOthersOut { return .refused(nil) }
    }
    return .admitted
  }

  /// An operation is about to start, and tries for all unless the circuit is closed.
  mutating func starts(
    _ operation: AdvancedOperation,
    keepingOthersOutUntil limit: TimeLimit?,
    _ time: Time
  ) -> Admission {
    let admission = asked(operation, time)
    let id = ObjectIdentifier(operation)
    guard case .admitted = admission, !isClosed, !isProbe(id) else { return admission }
    phase = .halfOpen(Probe(id: id, operation: operation, limit: limit))
    return .probe
  }
}

/// Holds unless a ``CircuitBreaker`` has opened its circuit.
///
/// Attaching it makes the breaker watch the operation: nothing else is needed.
///
/// ```swift
/// call.addCondition(CircuitClosed(breaker))
/// ```
///
/// When the circuit is half open, the first operation that starts becomes the probe. The condition
/// fails for others until the probe has ended, or has run for a whole cooldown. An operation that
/// only waits for a slot or a claim isn't the probe: if another one tries when its turn comes, it
/// fails then.
///
/// The condition may be a part of others. `!CircuitClosed(breaker)` only asks, and never makes its
/// operation the probe; nor does a condition of your own that calls ``check(_:)``.
public struct CircuitClosed: ImmediateCondition {
  /// The circuit is open, or half open with another operation that tries.
  public struct Open: Error, Hashable, CustomStringConvertible {
    /// How long it stays open; nil when that depends on how another operation ends.
    public var remaining: Duration?

    package init(remaining: Duration?) { self.remaining = remaining }

    /// One sentence with the time.
    public var description: String {
      if let remaining { return "The circuit is open for another \(remaining.readable)." }
      return "The circuit was open, and another operation tries whether it can be closed."
    }
  }

  let breaker: CircuitBreaker

  /// Creates the condition.
  ///
  /// - Parameter breaker: Becomes an observer of the operation to which the condition is attached,
  ///   by itself or as a part of another condition.
  public init(_ breaker: CircuitBreaker) { self.breaker = breaker }

  /// “circuit closed”.
  public var name: String { "circuit closed" }

  /// Asks the breaker, and changes nothing.
  public func check(_ operation: AdvancedOperation) -> OperationConditionResult {
    Self.result(breaker.refusal(of: operation))
  }

  /// Makes an operation that starts the probe, if the circuit needs one.
  func admit(_ operation: AdvancedOperation) -> OperationConditionResult {
    Self.result(breaker.admit(operation))
  }

  private static func result(_ refusal: Open?) -> OperationConditionResult {
    refusal.map { .failed($0) } ?? .satisfied
  }
}

extension CircuitClosed.Open: TimedError {
  var descriptionWithoutTime: String { "The circuit is open." }
}
