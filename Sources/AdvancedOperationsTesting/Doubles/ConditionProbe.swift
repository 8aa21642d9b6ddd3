public import AdvancedOperations
import CoreOperations

/// A condition that has no result until a test answers it.
///
/// ```swift
/// let probe = ConditionProbe()
/// operation.addCondition(probe)
/// queue.addOperation(operation)
/// simulation.run()
/// #expect(operation.state == .evaluatingConditions)
///
/// probe.answer(.failed(Offline()))
/// simulation.run()
/// #expect(operation.state == .finished)
/// ```
///
/// Without an answer, the evaluation waits until the operation is cancelled. A probe that ignores
/// cancellation keeps waiting, so its answer may arrive after the operation has finished.
public final class ConditionProbe: OperationCondition {
  private struct State {
    var result: OperationConditionResult?
    var waits: [(wait: AsyncWait, answer: Answer, operation: AdvancedOperation)] = []
    var evaluationCount = 0
  }

  /// The answer to one evaluation; only the first result takes effect.
  private final class Answer: Sendable {
    private let kept = Locked<OperationConditionResult?>(nil)
    var result: OperationConditionResult? { kept.withLock { $0 } }
    func give(_ result: OperationConditionResult) { kept.withLock { $0 = $0 ?? result } }
  }

  /// The name of the condition in errors; “probe” by default.
  public let name: String
  private let ignoresCancellation: Bool
  private let state = Locked(State())

  /// Creates a condition that has no answer yet.
  ///
  /// - Parameters:
  ///   - name: The name of the condition in errors.
  ///   - ignoresCancellation: Whether the condition keeps waiting when the operation is cancelled,
  ///     like code that never checks for cancellation.
  public init(name: String = "probe", ignoresCancellation: Bool = false) {
    self.name = name
    self.ignoresCancellation = ignoresCancellation
  }

  /// The number of times that the condition was evaluated.
  public var evaluationCount: Int { state.withLock { $0.evaluationCount } }

  /// The operations that wait for an answer, in the order of their evaluations.
  public var waiting: [AdvancedOperation] { state.withLock { $0.waits.map(\.operation) } }

  /// Answers all operations that wait, and all later operations until the next answer.
  ///
  /// - Parameter result: The result that the condition returns.
  public func answer(_ result: OperationConditionResult) {
    let waits = state.withLock { state in
      state.result = result
      defer { state.waits = [] }
      return state.waits
    }
    for wait in waits { finish(wait, result) }
  }

  /// Answers one operation that waits; other operations keep waiting.
  ///
  /// - Parameters:
  ///   - result: The result that the condition returns.
  ///   - operation: The waiting operation.
  /// - Returns: Whether the operation was waiting.
  @discardableResult
  public func answer(
    _ result: OperationConditionResult,
    for operation: AdvancedOperation
  ) -> Bool {
    let waits = state.withLock { state in
      let own = state.waits.filter { $0.operation === operation }
      state.waits.removeAll { $0.operation === operation }
      return own
    }
    for wait in waits { finish(wait, result) }
    return !waits.isEmpty
  }

  private func finish(
    _ wait: (wait: AsyncWait, answer: Answer, operation: AdvancedOperation),
    _ result: OperationConditionResult
  ) {
    wait.answer.give(result)
    wait.wait.finish()
  }

  /// Waits until a test answers.
  public func evaluate(for operation: AdvancedOperation) async -> OperationConditionResult {
    let answer = Answer()
    let record = Simulation.of(operation)?.record(of: operation)
    record?.held(1)
    defer { record?.held(-1) }
    do {
      if ignoresCancellation {
        // An unstructured task isn't cancelled together with the current task.
        let executor = operation.environment.executor as? any TaskExecutor
        try await Task(executorPreference: executor) {
          try await self.wait(for: answer, operation)
        }.value
      } else {
        try await wait(for: answer, operation)
      }
    } catch {
      return .failed(error)
    }
    return answer.result ?? .failed(CancellationError())
  }

  private func wait(for answer: Answer, _ operation: AdvancedOperation) async throws {
    state.withLock { $0.evaluationCount += 1 }
    try await AsyncWait().run { wait in
      self.state.withLock { state in
        if let result = state.result {
          answer.give(result)
          return false
        }
        state.waits.append((wait, answer, operation))
        return true
      }
    } unregister: { [weak self] wait in
      let gone = self?.state.withLock { state in
        let index = state.waits.firstIndex { $0.wait === wait }
        return index.map { state.waits.remove(at: $0) }
      }
      withExtendedLifetime(gone) {}
    }
  }
}
