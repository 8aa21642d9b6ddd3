import Synchronization

/// What an earlier runner has left, that was killed.
extension RunCore {
  /// Has the engine end what an earlier runner has left and that can't be taken up, before any step
  /// gets what it claims.
  func endLeftovers() async {
    let left = state.withLock { state in
      state.steps.enumerated().flatMap { index, step in
        [step.open, step.openRollback].compactMap { $0 }.map { (index, $0.handle) }
      }
    }
    let gracePeriod = options.gracePeriod
    await withTaskGroup { [engine] tasks in
      for (index, handle) in left {
        let report = report(index)
        tasks.addTask {
          await engine.endLeftover(handle: handle, gracePeriod: gracePeriod) { news in
            if case .waiting = news { report(news) }
          }
        }
      }
    }
  }
}

extension RunProgress {
  /// What keeps another engine from going on: something that it can't find, and that may go on.
  func left(byOtherThan engine: String) -> RunError? {
    for (step, attempt)
      in (open.sorted { $0.key < $1.key } + openRollbacks.sorted { $0.key < $1.key })
    {
      guard let other = attempt.engine, other != engine else { continue }
      // Processes of this machine can be asked.
      if let local = LocalHandle(attempt.handle), local.group?.isThere != true { continue }
      return .otherEngine(other, step: step)
    }
    return nil
  }
}
