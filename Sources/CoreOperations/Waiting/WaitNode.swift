extension WaitNode {
  /// All that has to come before this, as far as it can be seen; nothing if it can happen by
  /// itself.
  ///
  /// What the program may do at any time (resume a queue, raise a limit that is 0, say that an
  /// override is ready) counts as something that will happen.
  func needs() -> [WaitNeed] { waits().flatMap(\.needs) }

  private func waits() -> [Wait] {
    switch self {
    case .start(let operation):
      if operation.hasBegun { return operation.waitsBeforeTurn() }
      // Before the start, that is the code of its conditions.
      return operation.waitsOfCode() + operation.waitsBeforeStart()
    case .end(let operation):
      return operation.life.current.phase == .finished ? [] : operation.waitsBeforeEnd()
    case .quiet(let operation): return operation.waitsBeforeEnd()
    }
  }
}

extension Operation {
  /// Whether nothing keeps the operation from its work any more: after the `start()` of code
  /// outside of a queue, its layer may still wait.
  final var hasBegun: Bool {
    if life.current.phase <= .enqueued { return false }
    guard let layer else { return true }
    return !layer.isStartingByHand
  }
}
