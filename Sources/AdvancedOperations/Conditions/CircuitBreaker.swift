import CoreOperations

/// An observer that stops operations for a while after too many of them have failed.
///
/// Attach ``CircuitClosed`` to all operations that use the same service. The breaker observes these
/// operations and counts their failures:
///
/// ```swift
/// let breaker = CircuitBreaker(failures: 5, cooldown: .seconds(30))
/// for call in calls {
///   call.addCondition(CircuitClosed(breaker))
/// }
/// ```
///
/// If you attach only the breaker itself, as an observer, the operation is counted but runs in every state of
/// the circuit. A breaker that is attached to an operation several times counts the operation once.
///
/// - *Closed*: all operations may run. The circuit opens after the given number of failures without a success
///   in between.
/// - *Open*: no operation may run until the cooldown is over. The time is measured by the clock of the
///   operation that opened the circuit.
/// - *Half open*: one operation may run, as a *probe*. If the probe succeeds, the circuit closes. If the
///   probe fails, the circuit opens again for a whole cooldown. If the probe finishes in any other way, the
///   next operation can become the probe.
///
/// An operation becomes the probe when it starts, with its slot and its claims. An operation that still waits
/// for its slot or its claims isn't the probe. An operation that is cancelled before its start, or whose
/// conditions fail, doesn't become the probe either. If a probe has run for a whole cooldown, another
/// operation can become the probe, and the outcome of the first one doesn't count any more. With a cooldown
/// of zero, an operation stays the probe until it finishes.
///
/// The breaker counts outcomes of operations that have executed. A cancel by a ``TimeoutObserver`` while the
/// operation executed is a failure. A body that ends its operation as skipped is a success. If none of the
/// errors of a failure counts, the breaker treats the failure as a success, because the service has answered:
///
/// ```swift
/// let breaker = CircuitBreaker(failures: 5) { error in !(error is NotFound) }
/// ```
///
/// Other cancels, and timeouts that don't count, are neither successes nor failures. The same applies to
/// operations that failed or were skipped before they executed. While the circuit isn't closed, only the
/// outcome of the probe counts.
///
/// All members can be used from any thread. The breaker holds no lock while it reads a clock.
public final class CircuitBreaker: OperationObserver {
  /// The state of a circuit, which decides whether operations may run.
  public enum State: Sendable, Hashable, CaseIterable {
    /// Every operation may run.
    case closed
    /// No operation may run until the cooldown is over.
    case open
    /// A single operation may run, as the probe.
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
  ///   - cooldown: The time for which the circuit stays open. For the same time, a running probe keeps other
  ///     operations from becoming the probe.
  ///   - counts: A closure that returns true if an error counts as a failure of the service. By default, all
  ///     errors count. The breaker calls the closure for the root causes of a failure, as
  ///     ``RetryPolicy/when(_:)`` does, until one of them counts. No lock is held during the call.
  /// - Precondition: `failures` is at least 1, and the cooldown isn't negative.
  public init(
    failures: Int,
    cooldown: Duration = .seconds(60),
    counts: @escaping @Sendable (_ error: any Error) -> Bool = { _ in true }
  ) {
    guard failures >= 1, cooldown >= .zero else {
      trap(
        "CircuitBreaker was created with \(failures) failures and a cooldown of \(cooldown.readable). "
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

  /// Counts the outcome of an operation.
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
    // A body that skips has received an answer, such as HTTP 304, so the service works.
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

  /// Returns the end of a cooldown that begins now, by the clock of an operation.
  private func timeLimit(of operation: AdvancedOperation) -> Circuit.TimeLimit {
    let clock = operation.environment.clock
    return (clock, clock.now.saturatingAdding(cooldown))
  }

  var isClosed: Bool { circuit.withLock { $0.isClosed } }

  /// Returns the reason why an operation may not run; nil if the operation may run in the present state.
  func refusal(of operation: AdvancedOperation) -> CircuitClosed.Open? {
    decide(about: operation) { circuit, time in circuit.asked(operation, time) }
  }

  /// Makes a starting operation the probe if the circuit needs one.
  ///
  /// - Returns: The reason why the operation may not run; nil if the operation may run.
  func admit(_ operation: AdvancedOperation) -> CircuitClosed.Open? {
    let limit = cooldown > .zero ? timeLimit(of: operation) : nil
    return decide(about: operation) { circuit, time in
      circuit.starts(operation, keepingOthersOutUntil: limit, time)
    }
  }

  /// Lets another operation become the probe if this one was the probe and has finished, or doesn't start.
  func withdraw(_ operation: AdvancedOperation) {
    let id = ObjectIdentifier(operation)
    circuit.withLock { $0.probeEnded(id) }
  }

  private func decide(
    about operation: AdvancedOperation,
    _ event: (inout Circuit, Circuit.Time) -> Circuit.Admission
  ) -> CircuitClosed.Open? {
    // The clock is read without the lock. If the circuit has changed in between, the loop repeats.
    while true {
      let (version, limit) = circuit.withLock { ($0.version, $0.timeLimit) }
      let left = limit.map { $0.end.saturatingSubtracting($0.clock.now) }
      // This may be the last reference to the probe. It is released after the lock, because a release can run
      // code of the program.
      var probe: AdvancedOperation?
      let admission = circuit.withLock { circuit in
        probe = circuit.probe
        return event(&circuit, Circuit.Time(version: version, left: left))
      }
      withExtendedLifetime(probe) {}
      switch admission {
      case .admitted: return nil
      case .probe:
        // The probe may finish without executing, and the breaker may not observe it.
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
    /// The circuit is closed. Next phase: open.
    case closed(failures: Int)
    /// The circuit is open until the cooldown ends. Next phase: half open.
    case open(TimeLimit)
    /// The circuit waits for a probe, or for its outcome. Next phases: closed, open.
    case halfOpen(Probe?)
  }

  /// The operation that tests the service.
  ///
  /// A probe that was deallocated without running counts as absent.
  private struct Probe {
    let id: ObjectIdentifier
    weak var operation: AdvancedOperation?
    /// The time up to which other operations can't become the probe; nil if they can't before this one
    /// finishes.
    let limit: TimeLimit?
  }

  /// A reading of the clock, with the version of the circuit to which the reading belongs.
  struct Time {
    /// The version of the circuit when its clock was read.
    let version: UInt64
    /// The duration that was left until ``Circuit/timeLimit``; nil if the circuit has no time limit.
    let left: Duration?
  }

  enum Admission {
    case admitted
    /// The operation may run, as the probe.
    case probe
    /// The operation may not run for this duration; nil if the duration depends on the probe.
    case refused(Duration?)
    /// The circuit has changed since its clock was read.
    case outdated
  }

  private var phase = Phase.closed(failures: 0) { didSet { version &+= 1 } }
  /// A number that changes with each change of the phase.
  private(set) var version: UInt64 = 0

  var isClosed: Bool {
    if case .closed = phase { true } else { false }
  }

  /// The time at which the circuit becomes half open; nil unless the circuit is open.
  var cooldown: TimeLimit? {
    if case .open(let cooldown) = phase { cooldown } else { nil }
  }

  /// The time at which the circuit changes without an event; nil if it doesn't.
  var timeLimit: TimeLimit? {
    switch phase {
    case .closed: nil
    case .open(let cooldown): cooldown
    case .halfOpen(let probe): probe?.limit
    }
  }

  /// The operation that is the probe at this moment.
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

  /// Lets another operation become the probe if the probe has finished and its outcome decided nothing.
  mutating func probeEnded(_ id: ObjectIdentifier) {
    if isProbe(id) { phase = .halfOpen(nil) }
  }

  /// Returns whether an operation may run, without changing the circuit.
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

  /// Makes an operation that is about to start the probe, unless the circuit is closed or refuses the
  /// operation.
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

/// A condition that is satisfied unless a ``CircuitBreaker`` has opened its circuit.
///
/// If you attach the condition to an operation, the breaker also observes the operation.
///
/// ```swift
/// call.addCondition(CircuitClosed(breaker))
/// ```
///
/// If the circuit is half open, the first operation that starts becomes the probe. The condition fails for
/// other operations until the probe has finished, or has run for a whole cooldown. An operation that still
/// waits for a slot or a claim isn't the probe. If another operation is the probe when a slot and the claims
/// are available, the waiting operation fails.
///
/// The condition can be a part of other conditions. `!CircuitClosed(breaker)` only reads the state of the
/// circuit, and never makes its operation the probe. The same applies to your own condition that calls
/// ``check(_:)``.
public struct CircuitClosed: ImmediateCondition {
  /// An error that reports that the circuit is open, or is half open while another operation is the probe.
  public struct Open: Error, Hashable, CustomStringConvertible {
    /// The time for which the circuit stays open; nil if it depends on the outcome of another operation.
    public var remaining: Duration?

    package init(remaining: Duration?) { self.remaining = remaining }

    /// A sentence with the remaining time.
    public var description: String {
      if let remaining { return "The circuit is open for another \(remaining.readable)." }
      return "The circuit is half open, and another operation is its probe."
    }
  }

  let breaker: CircuitBreaker

  /// Creates the condition.
  ///
  /// - Parameter breaker: The breaker, which observes the operation to which the condition is attached, even
  ///   if the condition is a part of another condition.
  public init(_ breaker: CircuitBreaker) { self.breaker = breaker }

  /// The name “circuit closed”.
  public var name: String { "circuit closed" }

  /// Returns the answer of the breaker, without changing the circuit.
  public func check(_ operation: AdvancedOperation) -> OperationConditionResult {
    Self.result(breaker.refusal(of: operation))
  }

  /// Makes a starting operation the probe if the circuit needs one.
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
