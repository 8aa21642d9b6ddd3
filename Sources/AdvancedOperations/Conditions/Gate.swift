import CoreOperations

/// A condition that operations wait for until your program opens it.
///
/// While the gate is closed, its operations wait, without a slot, a claim or a thread:
///
/// ```swift
/// let network = Gate("network", isOpen: false)
/// upload.addCondition(network)
/// monitor.onChange { isOnline in
///   if isOnline { network.open() } else { network.close(reason: "offline") }
/// }
/// ```
///
/// An operation evaluates the gate when its dependencies have finished, and again when it starts. If the gate
/// closes in between, the operation returns its slot and its claims, and waits for the gate. Operations that have
/// started, and their later attempts, continue. The wait has no time limit: attach a ``TimeoutObserver`` of
/// ``TimeoutObserver/Phase/waiting``.
///
/// `!gate` is satisfied while the gate is closed, and doesn't wait. In `gate && other` and `gate || other`, the
/// operation waits for the gate first.
///
/// All members can be used from any thread, and a gate can be a condition of many operations.
public final class Gate: OperationCondition {
  /// An error that reports that a gate is closed.
  public struct Closed: Error, Hashable, CustomStringConvertible {
    /// The reason that was passed to ``Gate/close(reason:)``; empty if there is none.
    public var reason: String

    package init(reason: String) { self.reason = reason }

    /// The reason, or a sentence if there is none.
    public var description: String { reason.isEmpty ? "The gate is closed." : reason }
  }

  private enum State {
    case open
    case closed(reason: String)
    case refusing(any Error)

    /// The end of the changes for conditions that wait for the gate.
    var end: ChangeSignal.End? {
      if case .refusing(let error) = self { { _ in error } } else { nil }
    }
  }

  /// The name of the gate in explanations.
  public let name: String
  let changes = ChangeSignal()
  private let state: Locked<State>

  /// Creates a gate.
  ///
  /// - Parameters:
  ///   - name: The name of the gate in explanations.
  ///   - isOpen: Whether the gate is open.
  public init(_ name: String, isOpen: Bool = true) {
    self.name = name
    state = Locked(isOpen ? .open : .closed(reason: ""))
  }

  /// Whether the gate is open at this moment.
  public var isOpen: Bool {
    if case .open = state.withLock({ $0 }) { true } else { false }
  }

  /// Opens the gate, so that all operations that wait for it continue.
  public func open() { change(to: .open) }

  /// Closes the gate, so that operations wait for it, or changes the reason of a closed gate.
  ///
  /// - Parameter reason: The reason, which explanations show.
  public func close(reason: String = "") { change(to: .closed(reason: reason)) }

  /// Fails the operations that wait for the gate, and later operations until the gate is opened or closed.
  ///
  /// - Parameter error: The error with which the condition fails.
  public func refuse(_ error: any Error) { change(to: .refusing(error)) }

  /// Evaluates the conditions again that wait for this gate.
  ///
  /// These are the conditions of ``OperationCondition/waiting(for:atMost:)-(Gate,_)``. The gate itself doesn't
  /// change.
  public func lookAgain() { change { $0 } }

  private func change(to new: State) { change { _ in new } }

  /// Changes the state and its signal in one step, so that both agree whatever other threads do.
  private func change(_ body: (State) -> State) {
    let (old, change) = state.withLock { state in
      let old = state
      state = body(old)
      return (old, changes.record(end: state.end))
    }
    // The old state may have the last reference to an error of the program.
    withExtendedLifetime(old) { changes.announce(change) }
  }

  /// Returns the answer if the gate is open or refuses operations, and nil if the gate is closed.
  public func immediateResult(for operation: AdvancedOperation) -> OperationConditionResult? {
    resultWithoutWaiting(for: operation)
  }

  /// Waits until the gate is opened or refuses operations.
  public func evaluate(for operation: AdvancedOperation) async -> OperationConditionResult {
    await resultAfterChanges(for: operation)
  }
}

extension Gate: PatientCondition {
  func answer(for operation: AdvancedOperation, isStarting: Bool) -> PatientAnswer {
    switch state.withLock({ $0 }) {
    case .open: .decided(.satisfied)
    case .closed(let reason): .waits(Closed(reason: reason))
    case .refusing(let error): .decided(.failed(error))
    }
  }

  var wordsOfWait: (subject: String, remedy: String?) {
    ("gate “\(name)”", "gate “\(name)” has to be opened")
  }
}
