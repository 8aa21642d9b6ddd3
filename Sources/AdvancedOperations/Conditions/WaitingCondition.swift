public import CoreOperations

/// A condition that waits for a change if another condition fails, and evaluates the other condition again.
///
/// Call ``OperationCondition/waiting(for:atMost:)-(Changes,_)`` to create one.
public struct WaitingCondition: OperationCondition {
  fileprivate enum Source: Sendable {
    case gate(Gate)
    case sequence(ChangeReader)
  }

  let condition: any OperationCondition
  fileprivate let source: Source
  let longestWait: Duration?

  fileprivate init(
    _ condition: any OperationCondition,
    _ source: Source,
    atMost limit: Duration?
  ) {
    if !condition.patients.isEmpty {
      trap(
        "waiting(for:atMost:) was called on “\(condition.name)”, which contains a gate or a condition that "
          + "waits. Attach each of them as a separate condition: an operation waits for all its conditions."
      )
    }
    if !condition.breakers.isEmpty {
      trap(
        "waiting(for:atMost:) was called on “\(condition.name)”, which contains a CircuitClosed. Attach "
          + "CircuitClosed as a separate condition, and pass waits: true to its initializer."
      )
    }
    self.condition = condition
    self.source = source
    longestWait = limit
  }

  /// The name of the condition that is evaluated.
  public var name: String { condition.name }

  /// Returns the prerequisite of the condition.
  public func dependency(for operation: AdvancedOperation) -> Operation? {
    condition.dependency(for: operation)
  }

  /// Returns the answer if it is known without waiting, and nil if the condition isn't satisfied.
  public func immediateResult(for operation: AdvancedOperation) -> OperationConditionResult? {
    resultWithoutWaiting(for: operation)
  }

  /// Evaluates the condition, and again after each change until it doesn't fail.
  public func evaluate(for operation: AdvancedOperation) async -> OperationConditionResult {
    await resultAfterChanges(for: operation)
  }
}

extension WaitingCondition: PatientCondition {
  var changes: ChangeSignal {
    switch source {
    case .gate(let gate): gate.changes
    case .sequence(let reader): reader.signal
    }
  }

  func answer(for operation: AdvancedOperation, isStarting: Bool) -> PatientAnswer {
    condition.immediateResult(for: operation).map { answer($0, operation) } ?? .unknown
  }

  func slowAnswer(for operation: AdvancedOperation) async -> PatientAnswer {
    answer(await condition.evaluate(for: operation), operation)
  }

  private func answer(
    _ result: OperationConditionResult,
    _ operation: AdvancedOperation
  ) -> PatientAnswer {
    guard case .failed(let error) = result else { return .decided(result) }
    if case .sequence(let reader) = source { reader.begin(in: operation.environment) }
    return .waits(error)
  }
}

extension OperationCondition {
  /// Returns a condition that waits if this condition fails, and evaluates it again at each change.
  ///
  /// An operation waits without a slot, a claim or a thread:
  ///
  /// ```swift
  /// upload.addCondition(online.waiting(for: monitor.changes, atMost: .seconds(600)))
  /// ```
  ///
  /// - The elements of the sequence have no meaning. A single task reads them for all operations with the returned
  ///   condition, from the first wait on. If the sequence ends, operations fail with the error of this condition.
  ///   If the sequence throws, operations fail with the error of the sequence.
  /// - If this condition is immediate, it is evaluated again when the operation starts. If it fails then, the
  ///   operation returns its slot and its claims, and waits again.
  /// - For a ``CircuitClosed``, pass `waits: true` to its initializer instead.
  ///
  /// - Parameters:
  ///   - changes: The changes, which the task reads until the condition is released.
  ///   - limit: The longest time for which an operation waits, by the clock of its environment; nil for no limit.
  ///     After this time, the operation fails with the error of this condition.
  /// - Returns: The condition that waits.
  /// - Precondition: The condition contains no ``Gate``, no condition that waits and no ``CircuitClosed``. Attach
  ///   these as separate conditions.
  public func waiting<Changes: AsyncSequence & Sendable>(
    for changes: Changes,
    atMost limit: Duration? = nil
  ) -> WaitingCondition {
    let source = WaitingCondition.Source.sequence(ChangeReader(changes))
    return WaitingCondition(self, source, atMost: limit)
  }

  /// Returns a condition that waits if this condition fails, and evaluates it again whenever a gate is changed.
  ///
  /// It doesn't matter whether the gate is open. If the gate refuses operations, they fail with the error of the
  /// gate.
  ///
  /// ```swift
  /// let power = Gate("power")
  /// backup.addCondition(isCharging.waiting(for: power))
  /// powerStateDidChange = { power.lookAgain() }
  /// ```
  ///
  /// - Parameters:
  ///   - gate: The gate that is notified of changes.
  ///   - limit: The longest time for which an operation waits; nil for no limit.
  /// - Returns: The condition that waits.
  /// - Precondition: The condition contains no ``Gate``, no condition that waits and no ``CircuitClosed``. Attach
  ///   these as separate conditions.
  public func waiting(for gate: Gate, atMost limit: Duration? = nil) -> WaitingCondition {
    WaitingCondition(self, .gate(gate), atMost: limit)
  }
}

/// A reader of a sequence of changes, which begins when an operation waits for the first time.
private final class ChangeReader: Sendable {
  let signal = ChangeSignal()
  private let state = Locked<(hasBegun: Bool, task: Task<Void, Never>?)>((false, nil))
  private let start: @Sendable (OperationEnvironment, ChangeSignal) -> Task<Void, Never>

  init<Changes: AsyncSequence & Sendable>(_ changes: Changes) {
    start = { environment, signal in
      Task.detached(executorPreference: environment.bodyExecutor) { [weak signal] in
        do {
          var iterator = changes.makeAsyncIterator()
          // A change before this line may not be in the sequence.
          signal?.changed()
          // A sequence that never suspends may ignore the cancel.
          while !Task.isCancelled, try await iterator.next(isolation: nil) != nil {
            signal?.changed()
          }
          signal?.changed(end: { $0 })
        } catch {
          signal?.changed(end: { _ in error })
        }
      }
    }
  }

  deinit { state.withLock { $0.task }?.cancel() }

  /// Begins to read, once.
  func begin(in environment: OperationEnvironment) {
    // A second task that was cancelled could end the sequence for the first task.
    let isFirst = state.withLock { state in
      defer { state.hasBegun = true }
      return !state.hasBegun
    }
    guard isFirst else { return }
    let task = start(environment, signal)
    state.withLock { $0.task = task }
  }
}
