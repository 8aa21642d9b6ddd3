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
/// - *Half open*: one may run, as a probe. When it succeeds the circuit is closed; when it fails
///   the circuit is open again, for a whole cooldown. When it ends in any other way, the next one
///   may try.
///
/// What counts is how operations ended that executed: success, a failure, or a ``TimeoutObserver``
/// that ended them while they executed, which is a failure too. A body that ends its operation as
/// skipped is a success. Other cancels, and operations that failed or were skipped before they
/// executed, are neither. While the circuit isn't closed, only the probe's end counts.
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
  private let circuit = Locked(Circuit())

  /// Creates a circuit that is closed.
  ///
  /// - Parameters:
  ///   - failures: How many failures, with no success in between, open it.
  ///   - cooldown: How long it stays open.
  /// - Precondition: At least one failure, and a cooldown that isn't negative.
  public init(failures: Int, cooldown: Duration = .seconds(60)) {
    guard failures >= 1, cooldown >= .zero else {
      trap(
        "CircuitBreaker was made with \(failures) failures and a cooldown of \(cooldown.readable). "
          + "Give 1 failure or more, and a cooldown that isn't negative."
      )
    }
    limit = failures
    self.cooldown = cooldown
  }

  /// Where the circuit is now.
  public var state: State {
    guard let (clock, end) = circuit.withLock({ $0.cooldown }) else {
      return circuit.withLock { $0.isClosed } ? .closed : .halfOpen
    }
    return clock.now < end ? .open : .halfOpen
  }

  /// Remembers how an operation ended.
  public func operationDidFinish(_ operation: AdvancedOperation, errors: [any Error]) {
    let id = ObjectIdentifier(self)
    let isFirst = operation.withCore { core in
      guard core.machine.isLaunched, core.extra?.breakers.contains(id) != true else { return false }
      core.makeExtra().breakers.append(id)
      return true
    }
    if isFirst { count(operation) }
  }

  private func count(_ operation: AdvancedOperation) {
    let id = ObjectIdentifier(operation)
    switch operation.outcome {
    // A body that found nothing to do has been answered: HTTP 304, for instance.
    case .succeeded, .skipped: circuit.withLock { $0.succeeded(id) }
    case .failed: noteFailure(of: operation)
    case .cancelled(let failure):
      if failure.elements.contains(where: { $0.origin == .timeout }) {
        noteFailure(of: operation)
      }
    case nil: return
    }
  }

  private func noteFailure(of operation: AdvancedOperation) {
    let clock = operation.environment.clock
    let end = clock.now.saturatingAdding(cooldown)
    circuit.withLock { $0.failed(ObjectIdentifier(operation), limit: limit, (clock, end)) }
  }

  /// Whether an operation may run; takes the probe's place for it if that is free and due.
  func admit(_ operation: AdvancedOperation) -> CircuitClosed.Open? {
    let id = ObjectIdentifier(operation)
    // The clock is read without the lock; another failure in between may have begun a new cooldown.
    while true {
      let (clock, end) = circuit.withLock { $0.cooldown } ?? (nil, .zero)
      let left = clock.map { end.saturatingSubtracting($0.now) } ?? .zero
      // Its last reference may be this one, and is none to let go of under the lock.
      var probing: AdvancedOperation?
      let admission = circuit.withLock {
        $0.asked(id, operation, cooldown: clock.map { _ in end }, left, &probing)
      }
      probing = nil
      switch admission {
      case .admitted: return nil
      case .probe:
        // Whether or not it executes, and whether or not this observes it.
        operation.afterFinished { [weak self] in self?.circuit.withLock { $0.probeEnded(id) } }
        return nil
      case .refused(let left): return CircuitClosed.Open(remaining: left)
      case .outdated: continue
      }
    }
  }
}

/// A circuit as a pure value.
private struct Circuit {
  typealias Cooldown = (clock: OperationClock, end: Duration)

  private enum Phase {
    /// Exits: open.
    case closed(failures: Int)
    /// Exit: half open.
    case open(Cooldown)
    /// Exits: closed, open.
    case halfOpen(Probe?)
  }

  /// The operation that tries; one that is gone without having run isn't one any more.
  private struct Probe {
    let id: ObjectIdentifier
    weak var operation: AdvancedOperation?
  }

  enum Admission {
    case admitted
    /// As the one that tries.
    case probe
    /// For so long; nil when that depends on the probe.
    case refused(Duration?)
    /// The circuit has been opened again since its cooldown was read.
    case outdated
  }

  private var phase = Phase.closed(failures: 0)

  var isClosed: Bool {
    if case .closed = phase { true } else { false }
  }

  /// When it will be half open; nil unless it is open.
  var cooldown: Cooldown? {
    if case .open(let cooldown) = phase { cooldown } else { nil }
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

  mutating func failed(_ id: ObjectIdentifier, limit: Int, _ cooldown: Cooldown) {
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

  /// An operation wants to run.
  ///
  /// - Parameters:
  ///   - id: Its identity.
  ///   - operation: The operation.
  ///   - cooldown: The end of the cooldown as it was when the clock was read; nil when there was
  ///     none.
  ///   - left: How much of it was left.
  ///   - probing: Gets the one that tries at this moment.
  /// - Returns: Whether it may.
  mutating func asked(
    _ id: ObjectIdentifier,
    _ operation: AdvancedOperation,
    cooldown: Duration?,
    _ left: Duration,
    _ probing: inout AdvancedOperation?
  ) -> Admission {
    switch phase {
    case .closed: return .admitted
    case .open(let current):
      guard current.end == cooldown else { return .outdated }
      if left > .zero { return .refused(left) }
    case .halfOpen(let probe):
      if isProbe(id) { return .admitted }
      probing = probe?.operation
      if probing != nil { return .refused(nil) }
    }
    phase = .halfOpen(Probe(id: id, operation: operation))
    return .probe
  }
}
