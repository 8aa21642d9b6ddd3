public import AdvancedOperations
import CoreOperations

/// A condition that answers when it is told to.
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
/// Without an answer it waits, until the operation is cancelled.
public final class ConditionProbe: OperationCondition {
  private struct State {
    var result: OperationConditionResult?
    var waits: [AsyncWait] = []
    var askedCount = 0
  }

  private let state = Locked(State())

  /// Creates a condition that has no answer yet.
  public init() {}

  /// “probe”.
  public var name: String { "probe" }

  /// How often it was asked.
  public var askedCount: Int { state.withLock { $0.askedCount } }

  /// Answers all who have asked and all who will, until another answer is given.
  ///
  /// - Parameter result: What to answer.
  public func answer(_ result: OperationConditionResult) {
    let waits = state.withLock { state in
      state.result = result
      defer { state.waits = [] }
      return state.waits
    }
    for wait in waits { wait.finish() }
  }

  /// Waits for the answer.
  public func evaluate(for operation: AdvancedOperation) async -> OperationConditionResult {
    state.withLock { $0.askedCount += 1 }
    do {
      try await AsyncWait().run { wait in
        self.state.withLock { state in
          guard state.result == nil else { return false }
          state.waits.append(wait)
          return true
        }
      } unregister: { [weak self] wait in
        self?.state.withLock { state in state.waits.removeAll { $0 === wait } }
      }
    } catch {
      return .failed(error)
    }
    return state.withLock { $0.result } ?? .failed(CancellationError())
  }
}

/// Asks a condition on its own, without running the operation.
///
/// ```swift
/// let result = await evaluate(FileExists("/no/such/file"), for: AdvancedOperation())
/// #expect(!result.isSatisfied)
/// ```
///
/// - Parameters:
///   - condition: The condition to ask.
///   - operation: What it is asked for.
/// - Returns: What it answers at once, or else what it answers asynchronously.
public func evaluate(
  _ condition: any OperationCondition,
  for operation: AdvancedOperation
) async -> OperationConditionResult {
  if let verdict = condition.verdict(for: operation) { return verdict }
  return await condition.evaluate(for: operation)
}
