import CoreOperations

/// The body of an operation that makes others and runs one after the other: attempts, or rounds.
///
/// The operation passes on what it is told under the same names.
final class RoundsBody<Made>: Sendable {
  typealias Make = @Sendable (_ number: Int) -> Made

  private struct State {
    var make: Make?
    /// Made with the operation, and not used yet.
    var captured: CapturedTask?
    var task: Task<Void, Never>?
    var rounds: OperationRounds?
  }

  private let state: Locked<State>

  /// Captures the task that creates the operation.
  init(_ make: @escaping Make) {
    state = Locked(State(make: make, captured: .capture()))
  }

  /// Runs the rounds in a task; finishes the operation at once when it was released before.
  func execute(
    _ owner: AdvancedOperation,
    _ run: @escaping @Sendable (OperationRounds, Make) async -> Void
  ) {
    let rounds = OperationRounds(for: owner)
    let (make, captured) = state.withLock { state in
      state.rounds = rounds
      return (state.make.take(), state.captured.take())
    }
    guard let make else {
      captured?.discard()
      owner.finish()
      return
    }
    owner.runTask(captured, in: owner.environment) { task in
      state.withLock { $0.task = task }
      if owner.isCancelled { stop(reason: owner.cancellationReason) }
    } _: {
      await run(rounds, make)
    }
  }

  func exchangeCaptured(_ new: CapturedTask?) -> CapturedTask? {
    state.withLock { state in
      guard state.make != nil else { return new }
      defer { state.captured = new }
      return state.captured
    }
  }

  private var rounds: OperationRounds? { state.withLock { $0.rounds } }

  var openChildren: [Operation] { rounds?.openMembers ?? [] }
  var pause: OperationPause? { rounds?.pause }

  /// Whether this is what a round began with, and not something that it produced.
  func isRound(_ operation: AdvancedOperation) -> Bool { rounds?.isRound(operation) ?? false }

  func adopt(_ operation: AdvancedOperation, of owner: AdvancedOperation) -> Bool {
    rounds?.add(operation, of: owner) ?? false
  }

  /// The operation was cancelled: so is what is going on, or the wait for the next one.
  func stop(reason: (any Error)?) {
    let (task, rounds) = state.withLock { ($0.task, $0.rounds) }
    task?.cancel()
    rounds?.stop(reason: reason)
  }

  /// Lets go of everything.
  func release() {
    let old = state.withLock { state in
      let old = state
      state = State()
      return old
    }
    old.captured?.discard()
    old.task?.cancel()
    withExtendedLifetime(old) {}
  }
}
