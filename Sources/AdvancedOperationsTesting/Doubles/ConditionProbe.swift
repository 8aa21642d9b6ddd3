public import AdvancedOperations
import CoreOperations

/// A condition that has no result until a test gives it one.
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
/// Without an answer it waits, until the operation is cancelled. A probe that ignores cancellation
/// goes on waiting, and its answer then comes after the end of the operation.
public final class ConditionProbe: OperationCondition {
  private struct State {
    var result: OperationConditionResult?
    var waits: [(wait: AsyncWait, answer: Answer, operation: AdvancedOperation)] = []
    var evaluationCount = 0
  }

  /// What one question is answered with; the first answer counts.
  private final class Answer: Sendable {
    private let kept = Locked<OperationConditionResult?>(nil)
    var result: OperationConditionResult? { kept.withLock { $0 } }
    func give(_ result: OperationConditionResult) { kept.withLock { $0 = $0 ?? result } }
  }

  /// What the condition is called in errors; “probe” unless given.
  public let name: String
  private let ignoresCancellation: Bool
  private let state = Locked(State())

  /// Creates a condition that has no answer yet.
  ///
  /// - Parameters:
  ///   - name: What it is called in errors.
  ///   - ignoresCancellation: Whether it goes on waiting when the operation is cancelled, as code
  ///     does that never looks.
  public init(name: String = "probe", ignoresCancellation: Bool = false) {
    self.name = name
    self.ignoresCancellation = ignoresCancellation
  }

  /// How often it was evaluated.
  public var evaluationCount: Int { state.withLock { $0.evaluationCount } }

  /// The operations that wait for an answer, in the order of their evaluations.
  public var waiting: [AdvancedOperation] { state.withLock { $0.waits.map(\.operation) } }

  /// Gives the answer to all operations that wait, and to those that come, until another is given.
  ///
  /// - Parameter result: What to answer.
  public func answer(_ result: OperationConditionResult) {
    let waits = state.withLock { state in
      state.result = result
      defer { state.waits = [] }
      return state.waits
    }
    for wait in waits { finish(wait, result) }
  }

  /// Gives an answer to one operation that waits; the others go on waiting.
  ///
  /// - Parameters:
  ///   - result: What to answer.
  ///   - operation: The operation.
  /// - Returns: Whether it was waiting.
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

  /// Waits for the answer.
  public func evaluate(for operation: AdvancedOperation) async -> OperationConditionResult {
    let answer = Answer()
    let record = Simulation.of(operation)?.record(of: operation)
    record?.held(1)
    defer { record?.held(-1) }
    do {
      if ignoresCancellation {
        // A task of its own, which isn't cancelled with this one.
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
