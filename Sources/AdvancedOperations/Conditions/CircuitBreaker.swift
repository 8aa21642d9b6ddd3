import CoreOperations
import Synchronization

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
/// A breaker can also open by the ratio of failures and slow calls, and need several probes to close:
///
/// ```swift
/// let breaker = CircuitBreaker("api", failureRatio: 0.5, slow: .seconds(5), probes: 3)
/// ```
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

  /// The name of the circuit in explanations; empty if it has none.
  public let name: String
  private let slow: Duration?
  private let cooldown: Duration
  private let counts: @Sendable (any Error) -> Bool
  private let circuit: Locked<Circuit>
  /// The changes of the circuit, for operations that wait until it is closed.
  let changes = ChangeSignal()
  private let isAwaited = Atomic(false)
  /// The timer of the next change without an event, for the version of the circuit.
  private let timer = Locked<(version: UInt64, timer: OperationTimer?)>((0, nil))
  /// Whether the breaker needs the time at which operations begin to execute.
  var measuresTime: Bool { slow != nil }

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
    name = ""
    slow = nil
    self.cooldown = cooldown
    self.counts = counts
    circuit = Locked(Circuit(.consecutive(failures), probes: 1))
  }

  /// Creates a circuit that opens by the ratio of failures, and is closed at first.
  ///
  /// Outcomes are counted in tenths of the period, by the clock of the last operation.
  ///
  /// - Parameters:
  ///   - name: The name of the circuit in explanations.
  ///   - ratio: The circuit opens if failures are at least this part of the outcomes within the period.
  ///   - minimum: The number of outcomes within the period below which the circuit stays closed.
  ///   - period: The length of the period, which ends now.
  ///   - slow: The duration from which a success counts as a failure, because callers wait for a slow service
  ///     in vain; nil for none. The time of an operation includes all its attempts.
  ///   - probes: The number of operations that may run at the same time while the circuit is half open. If all
  ///     of them succeed, the circuit closes. If one of them fails, it opens again.
  ///   - cooldown: The time for which the circuit stays open.
  ///   - counts: A closure that returns true if an error counts as a failure of the service.
  /// - Precondition: The ratio is more than 0 and at most 1. The numbers are at least 1, the period is more than
  ///   zero, and the cooldown isn't negative.
  public init(
    _ name: String = "",
    failureRatio ratio: Double,
    ofAtLeast minimum: Int = 20,
    within period: Duration = .seconds(10),
    slow: Duration? = nil,
    probes: Int = 1,
    cooldown: Duration = .seconds(60),
    counts: @escaping @Sendable (_ error: any Error) -> Bool = { _ in true }
  ) {
    guard ratio > 0, ratio <= 1, minimum >= 1, period > .zero, probes >= 1, cooldown >= .zero else {
      trap(
        "CircuitBreaker “\(name)” was created with the ratio \(ratio) of \(minimum) outcomes within "
          + "\(period.readable), \(probes) probes and a cooldown of \(cooldown.readable). Give a ratio from "
          + "0 to 1, numbers of 1 or more, a period of more than zero, and a cooldown that isn't negative."
      )
    }
    self.name = name
    self.slow = slow
    self.cooldown = cooldown
    self.counts = counts
    let rule = Circuit.Rule.ratio(ratio, minimum: minimum, period: period)
    circuit = Locked(Circuit(rule, probes: probes))
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
    case .succeeded, .skipped:
      note(operation, isFailure: isSlow(operation))
    case .failed(let failure):
      note(operation, isFailure: failure.decidingCauses.contains(where: counts))
    case .cancelled(let failure):
      let timeouts = failure.elements.filter { $0.origin == .timeout }
      if OperationFailure(elements: timeouts).decidingCauses.contains(where: counts) {
        note(operation, isFailure: true)
      }
    }
  }

  private func isSlow(_ operation: AdvancedOperation) -> Bool {
    guard let slow, let begin = operation.recordedTimes.executing ?? operation.bodyBegin else {
      return false
    }
    return operation.environment.clock.now - begin >= slow
  }

  private func note(_ operation: AdvancedOperation, isFailure: Bool) {
    let clock = operation.environment.clock
    let now = clock.now
    let cooldown = now.saturatingAdding(self.cooldown)
    change {
      $0.ended(ObjectIdentifier(operation), isFailure: isFailure, at: (clock, now), until: cooldown)
    }
  }

  /// Changes the circuit, and lets operations that wait for it look again.
  private func change(_ body: (inout Circuit) -> Void) {
    let (old, new, limit) = circuit.withLock { circuit in
      let old = circuit.version
      body(&circuit)
      return (old, circuit.version, circuit.timeLimit)
    }
    if new != old { changed(to: new, limit) }
  }

  private func changed(to version: UInt64, _ limit: Circuit.TimeLimit?) {
    guard isAwaited.load(ordering: .acquiring) else { return }
    let new = limit.map { clock, end in
      clock.schedule(at: end) { [weak self] in self?.changes.changed() }
    }
    // Another thread may have set the timer of a later change.
    let old = timer.withLock { timer in
      if timer.version > version { return new }
      defer { timer = (version, new) }
      return timer.timer
    }
    old?.cancel()
    changes.changed()
  }

  /// Records that operations wait until the circuit is closed.
  func willBeAwaited() {
    // The circuit may be open already.
    if !isAwaited.exchange(true, ordering: .acquiringAndReleasing) {
      let (version, limit) = circuit.withLock { ($0.version, $0.timeLimit) }
      changed(to: version, limit)
    }
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
    change { $0.probeEnded(id) }
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
      var probes: [AdvancedOperation] = []
      let (admission, new, limitOfNew) = circuit.withLock { circuit in
        probes = circuit.runningProbes
        let admission = event(&circuit, Circuit.Time(version: version, left: left))
        return (admission, circuit.version, circuit.timeLimit)
      }
      withExtendedLifetime(probes) {}
      switch admission {
      case .admitted: return nil
      case .probe:
        // The probe may finish without executing, and the breaker may not observe it.
        operation.whenFinished { [weak self, weak operation] _ in
          if let operation { self?.withdraw(operation) }
        }
        changed(to: new, limitOfNew)
        return nil
      case .refused(let left): return CircuitClosed.Open(remaining: left)
      case .outdated: continue
      }
    }
  }
}

/// A circuit as a pure value.
struct Circuit {
  typealias TimeLimit = (clock: OperationClock, end: Duration)

  /// The rule by which outcomes open the circuit.
  enum Rule {
    /// The number of failures without a success in between.
    case consecutive(Int)
    case ratio(Double, minimum: Int, period: Duration)
  }

  private enum Phase {
    /// The circuit is closed. Next phase: open.
    case closed
    /// The circuit is open until the cooldown ends. Next phase: half open.
    case open(TimeLimit)
    /// The circuit waits for probes, or for their outcomes. Next phases: closed, open.
    case halfOpen([Probe], successes: Int)
  }

  /// An operation that tests the service.
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
    /// The operation may run, as a probe.
    case probe
    /// The operation may not run for this duration; nil if the duration depends on the probes.
    case refused(Duration?)
    /// The circuit has changed since its clock was read.
    case outdated
  }

  private let rule: Rule
  private let probeCount: Int
  private var phase = Phase.closed { didSet { version &+= 1 } }
  /// A number that changes with each change of the phase.
  private(set) var version: UInt64 = 0
  /// The failures since the last success.
  private var failures = 0
  /// The outcomes and the failures of the period, and the clock that measured it.
  private var recent: (counts: RecentCounts, clock: UInt64)?

  init(_ rule: Rule, probes: Int) {
    self.rule = rule
    probeCount = probes
  }

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
    case .halfOpen(let probes, _): probes.first?.limit
    }
  }

  /// The operations that are probes at this moment.
  var runningProbes: [AdvancedOperation] {
    if case .halfOpen(let probes, _) = phase { probes.compactMap(\.operation) } else { [] }
  }

  private func isProbe(_ id: ObjectIdentifier) -> Bool {
    guard case .halfOpen(let probes, _) = phase else { return false }
    return probes.contains { $0.id == id && $0.operation != nil }
  }

  /// Records that an operation has succeeded or failed.
  mutating func ended(
    _ id: ObjectIdentifier,
    isFailure: Bool,
    at time: TimeLimit,
    until cooldown: Duration
  ) {
    switch phase {
    case .closed: if count(isFailure, time) { phase = .open((time.clock, cooldown)) }
    case .open: return
    case .halfOpen(let probes, let successes):
      guard isProbe(id) else { return }
      if isFailure {
        phase = .open((time.clock, cooldown))
      } else if successes + 1 < probeCount {
        phase = .halfOpen(probes.filter { $0.id != id }, successes: successes + 1)
      } else {
        (phase, failures, recent) = (.closed, 0, nil)
      }
    }
  }

  /// Counts an outcome; returns true if the rule opens the circuit.
  private mutating func count(_ isFailure: Bool, _ time: TimeLimit) -> Bool {
    switch rule {
    case .consecutive(let limit):
      failures = isFailure ? failures + 1 : 0
      return failures >= limit
    case .ratio(let ratio, let minimum, let period):
      let clock = time.clock.identity.number
      var counts =
        recent.flatMap { $0.clock == clock ? $0.counts : nil } ?? RecentCounts(period: period)
      counts.add(1, isFailure ? 1 : 0, at: time.end)
      let sums = counts.sums(at: time.end)
      recent = (counts, clock)
      return sums.first >= minimum && Double(sums.second) >= ratio * Double(sums.first)
    }
  }

  /// Lets another operation become a probe if a probe has finished and its outcome decided nothing.
  mutating func probeEnded(_ id: ObjectIdentifier) {
    guard isProbe(id), case .halfOpen(let probes, let successes) = phase else { return }
    phase = .halfOpen(probes.filter { $0.id != id }, successes: successes)
  }

  /// Returns whether an operation may run, without changing the circuit.
  func asked(_ operation: AdvancedOperation, _ time: Time) -> Admission {
    if case .closed = phase { return .admitted }
    guard time.version == version else { return .outdated }
    switch phase {
    case .closed: return .admitted
    case .open:
      if let left = time.left, left > .zero { return .refused(left) }
    case .halfOpen(_, let successes):
      if isProbe(ObjectIdentifier(operation)) { return .admitted }
      if probes(at: time).count + successes >= probeCount { return .refused(nil) }
    }
    return .admitted
  }

  /// Returns the probes that keep other operations out.
  private func probes(at time: Time) -> [Probe] {
    guard case .halfOpen(let probes, _) = phase else { return [] }
    let isFirstOver = time.left.map { $0 <= .zero } ?? false
    return probes.dropFirst(isFirstOver ? 1 : 0).filter { $0.operation != nil }
  }

  /// Makes an operation that is about to start a probe, unless the circuit is closed or refuses the operation.
  mutating func starts(
    _ operation: AdvancedOperation,
    keepingOthersOutUntil limit: TimeLimit?,
    _ time: Time
  ) -> Admission {
    let admission = asked(operation, time)
    let id = ObjectIdentifier(operation)
    guard case .admitted = admission, !isClosed, !isProbe(id) else { return admission }
    let probe = Probe(id: id, operation: operation, limit: limit)
    let successes = if case .halfOpen(_, let successes) = phase { successes } else { 0 }
    phase = .halfOpen(probes(at: time) + [probe], successes: successes)
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
/// With `waits: true`, operations don't fail. They wait without a slot, a claim or a thread until the circuit is
/// closed. When the cooldown is over, some of them start as probes, and the others wait for the outcome. When the
/// circuit closes, all of them may start. To limit their pace, claim a ``RateLimit``.
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
  let waits: Bool

  /// Creates the condition.
  ///
  /// - Parameters:
  ///   - breaker: The breaker, which observes the operation to which the condition is attached, even if the
  ///     condition is a part of another condition.
  ///   - waits: Whether operations wait until the circuit is closed, instead of failing.
  public init(_ breaker: CircuitBreaker, waits: Bool = false) {
    self.breaker = breaker
    self.waits = waits
    if waits { breaker.willBeAwaited() }
  }

  /// The name “circuit closed”, with the name of the circuit if it has one.
  public var name: String {
    breaker.name.isEmpty ? "circuit closed" : "circuit “\(breaker.name)” closed"
  }

  /// Returns the answer of the breaker, without changing the circuit.
  public func check(_ operation: AdvancedOperation) -> OperationConditionResult {
    Self.result(breaker.refusal(of: operation))
  }

  /// Makes a starting operation the probe if the circuit needs one.
  func admit(_ operation: AdvancedOperation) -> OperationConditionResult {
    Self.result(breaker.admit(operation))
  }

  /// Returns the answer of the breaker, or nil if the operation has to wait.
  public func immediateResult(for operation: AdvancedOperation) -> OperationConditionResult? {
    waits ? resultWithoutWaiting(for: operation) : check(operation)
  }

  /// Returns the answer of the breaker, after a wait if the operation has to wait.
  public func evaluate(for operation: AdvancedOperation) async -> OperationConditionResult {
    waits ? await resultAfterChanges(for: operation) : check(operation)
  }

  private static func result(_ refusal: Open?) -> OperationConditionResult {
    refusal.map { .failed($0) } ?? .satisfied
  }
}

extension CircuitClosed.Open: TimedError {
  var descriptionWithoutTime: String { "The circuit is open." }
}

extension CircuitClosed: PatientCondition {
  var changes: ChangeSignal { breaker.changes }

  func answer(for operation: AdvancedOperation, isStarting: Bool) -> PatientAnswer {
    let refusal = isStarting ? breaker.admit(operation) : breaker.refusal(of: operation)
    return refusal.map { .waits($0) } ?? .decided(.satisfied)
  }

  var wordsOfWait: (subject: String, remedy: String?) {
    (breaker.name.isEmpty ? "the circuit" : "circuit “\(breaker.name)”", nil)
  }

  /// Returns the remaining time now, which was longer when the wait began.
  func reason(of error: any Error, for operation: AdvancedOperation) -> String {
    "\(breaker.refusal(of: operation) ?? error)"
  }
}
