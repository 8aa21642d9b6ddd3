import Synchronization
import WorkflowDocument

/// What an earlier runner has left, that was killed.
extension RunCore {
  /// Has the engine end what an earlier runner has left and that can't be taken up, before any step
  /// gets what it claims.
  func endLeftovers() async {
    state.withLock { $0.leftoversBegin() }
    defer { state.withLock { $0.leftoversEnded() } }
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
    let outputs = outputsOfOpenSteps
    await withTaskGroup { [engine] tasks in
      for (index, handle) in left {
        let report = report(waitsOf: index)
        tasks.addTask {
          await engine.endLeftover(handle: handle, gracePeriod: gracePeriod, report: report)
        }
      }
    }
    await engine.endUnrecorded(gracePeriod: gracePeriod) { file in
      outputs[file.withoutAttempt].map { self.report(waitsOf: $0) }
    }
  }

  /// The steps that aren't done, by the files of their outputs without the numbers of attempts.
  ///
  /// What a step that is done has left goes on.
  private var outputsOfOpenSteps: [Substring: Int] {
    state.withLock { state in
      var outputs: [Substring: Int] = [:]
      for (index, step) in steps.enumerated() where state.steps[index].success == nil {
        outputs[folder.outputFile(of: step.id, attempt: 0).withoutAttempt] = index
      }
      return outputs
    }
  }
}

extension String {
  /// The path of a file of outputs without what tells one attempt's from others.
  fileprivate var withoutAttempt: Substring {
    let end = self[...].lastIndex(of: ".").flatMap { self[..<$0].lastIndex(of: ".") }
    return self[..<(end ?? endIndex)]
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
