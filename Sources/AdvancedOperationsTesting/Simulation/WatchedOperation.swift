import AdvancedOperations
import CoreOperations

/// What a simulation knows of one operation.
final class WatchedOperation: Sendable {
  private struct State {
    weak var operation: Operation?
    var lastStep = "none"
    var time = Duration.zero
    /// Whether the operation waits for the test, and the test knows.
    var heldCount = 0
    var hasSlept = false
  }

  let subject: StepSubject
  private let state: Locked<State>

  init(_ operation: Operation, _ subject: StepSubject) {
    self.subject = subject
    state = Locked(State(operation: operation))
  }

  var name: String { subject.name }

  var operation: Operation? { state.withLock { $0.operation } }

  func took(_ step: String, at time: Duration) {
    state.withLock { state in
      state.lastStep = step
      state.time = time
    }
  }

  func held(_ change: Int) { state.withLock { $0.heldCount += change } }

  /// Code of the operation sleeps by the clock of the simulation.
  func sleeps() { state.withLock { $0.hasSlept = true } }

  /// Whether the operation waits for the test, as one does that asks a probe.
  var isHeld: Bool { state.withLock { $0.heldCount > 0 } }

  var hasSlept: Bool { state.withLock { $0.hasSlept } }

  /// - Parameters:
  ///   - waitsForTest: Whether an operation that has begun waits for the test.
  ///   - reason: Why such an operation has not finished, as far as that is known.
  /// - Returns: The operation if it has left the simulation.
  func stray(
    unless waitsForTest: (Operation) -> Bool,
    because reason: (AdvancedOperation) -> String?
  ) -> StrayOperation? {
    let (operation, step, time, isHeld) = state.withLock {
      ($0.operation as? AdvancedOperation, $0.lastStep, $0.time, $0.heldCount > 0)
    }
    guard let operation, !isHeld else { return nil }
    let current = operation.state
    switch current {
    case .pending, .ready, .finished: return nil
    case .evaluatingConditions, .executing, .finishing: break
    }
    // A group waits for its children, who speak for themselves.
    if let group = operation as? GroupOperation, group.children.contains(where: { !$0.isFinished })
    {
      return nil
    }
    // Last, because it explains the operation.
    if waitsForTest(operation) { return nil }
    return StrayOperation(
      name: name,
      state: current,
      lastStep: step,
      time: time,
      reason: reason(operation)
    )
  }
}
