import Synchronization

/// What an earlier runner has left, that was killed.
extension RunCore {
  /// Has the engine end what an earlier runner has left and that can't be taken up, before any step
  /// gets what it claims.
  func endLeftovers() async {
    let rollbacks = left.withLock { $0.rollbacks }
    let left = state.withLock { state in
      state.steps.enumerated().compactMap { index, step in
        step.open.map { (index, $0.handle) }
      }
        + rollbacks.compactMap { rollback in
          guard let index = state.place(of: rollback.step) else { return nil }
          return rollback.open.map { (index, $0.handle) }
        }
    }
    let gracePeriod = options.gracePeriod
    await withTaskGroup { [engine] tasks in
      for (index, handle) in left {
        let report = report(waitsOf: index)
        tasks.addTask {
          await engine.endLeftover(handle: handle, gracePeriod: gracePeriod, report: report)
        }
      }
    }
  }
}

extension RunProgress {
  /// What keeps another engine from going on: something that it can't find, and that may go on.
  func left(byOtherThan engine: String) -> RunError? {
    let rollbacks = unfinishedRollbacks.compactMap { rollback in
      rollback.open.map { (rollback.step, $0) }
    }
    for (step, attempt) in open.sorted(by: { $0.key < $1.key }) + rollbacks {
      guard let other = attempt.engine, other != engine else { continue }
      // Processes of this machine can be asked.
      if let local = LocalHandle(attempt.handle), local.group?.isThere != true { continue }
      return .otherEngine(other, step: step)
    }
    return nil
  }
}
