public import WorkflowDocument

/// What a journal says about the steps of a workflow: which are done, and which may still be going
/// on.
public struct RunProgress: Sendable, Equatable {
  /// An attempt that was started, and whose end isn't known.
  public struct OpenAttempt: Sendable, Equatable {
    /// Its number, from 1.
    public var number: Int
    /// How its engine finds it.
    public var handle: String
    /// The name of its engine; nil if that isn't known.
    public var engine: String?
  }

  /// A step that was being undone, and isn't known to have been.
  public struct UnfinishedRollback: Sendable, Equatable {
    /// The step.
    public var step: String
    /// The command, if it may go on without a runner.
    public var open: OpenAttempt?
  }

  /// The last end of each step, in this run.
  public var ends: [String: StepEnd] = [:]
  /// The steps that don't run again, in the order in which they ended.
  public var done: [String] = []
  /// The attempts that may be going on without a runner.
  public var open: [String: OpenAttempt] = [:]
  /// The steps of which nobody knows how much is undone, in the order in which that was begun.
  public var unfinishedRollbacks: [UnfinishedRollback] = []
  /// How many attempts of a step that is to be tried again have failed.
  public var failures: [String: Int] = [:]
  /// The outputs that steps declare by now, and didn't give when they succeeded.
  public var missingOutputs: [String: [String]] = [:]
  /// How many attempts a step has had.
  public var attempts: [String: Int] = [:]
  /// How the run ended; nil if it goes on, or was interrupted.
  public var end: RunEnd?

  /// Sums up the records of a journal.
  ///
  /// A step is done that succeeded and wasn't undone. One that was skipped is done as well. One that
  /// ran, or was skipped, because of how others had ended is not if any of those runs again. What was undone, and is or
  /// will be made anew, is what the steps that need it were made of: they run again too. So does one
  /// that declares an output by now that it didn't give.
  ///
  /// - Parameters:
  ///   - records: The records of one journal.
  ///   - workflow: What the run is of.
  public init(_ records: [JournalRecord], of workflow: Workflow) {
    var order: [String] = []
    var history = History()
    for (place, record) in records.enumerated() {
      switch record {
      case .begun: break
      case .resumed: end = nil
      case .started(let step, let attempt, _, let handle, let engine):
        history.began(step)
        open[step] = OpenAttempt(number: attempt, handle: handle, engine: engine)
        attempts[step] = max(attempts[step] ?? 0, attempt)
      case .attemptFailed(let step, let attempt):
        history.began(step)
        open[step] = nil
        attempts[step] = max(attempts[step] ?? 0, attempt)
        failures[step, default: 0] += 1
      case .ended(let step, let stepEnd):
        open[step] = nil
        failures[step] = nil
        attempts[step] = max(attempts[step] ?? 0, stepEnd.attempts)
        unfinishedRollbacks.removeAll { $0.step == step }
        ends[step] = stepEnd
        history.ended(step, stepEnd.outcome, at: place)
        order.append(step)
      case .rollbackBegun(let step):
        history.undone.insert(step)
        _ = unfinishedRollback(of: step)
      case .rollbackStarted(let step, let attempt, let handle, let engine):
        // A journal of version 1 says nothing before it, nor whether it has ended.
        let index = unfinishedRollback(of: step)
        unfinishedRollbacks[index].open = OpenAttempt(
          number: attempt,
          handle: handle,
          engine: engine
        )
      case .rollbackFailed(let step, _):
        unfinishedRollbacks[unfinishedRollback(of: step)].open = nil
      case .rolledBack(let step):
        history.undone.insert(step)
        unfinishedRollbacks.removeAll { $0.step == step }
      case .runEnded(let runEnd): end = runEnd
      }
    }
    let isDone = doneSteps(of: workflow, history)
    var seen: Set<String> = []
    // The last end of a step is the one that counts.
    for step in order.reversed() where isDone.contains(step) && seen.insert(step).inserted {
      done.append(step)
    }
    done.reverse()
  }

  /// The place of a step among those of which nobody knows how much is undone; the last one if it is
  /// new.
  private mutating func unfinishedRollback(of step: String) -> Int {
    if let index = unfinishedRollbacks.firstIndex(where: { $0.step == step }) { return index }
    unfinishedRollbacks.append(UnfinishedRollback(step: step))
    return unfinishedRollbacks.count - 1
  }

  private mutating func doneSteps(of workflow: Workflow, _ history: History) -> Set<String> {
    var done: Set<String> = []
    var stale: Set<String> = history.undone
    // Needs come first; in a file they may stand in any order.
    for step in workflow.stepsInOrder {
      let outcomes = step.outcomeSteps
      let isStale = step.needs.contains { need in
        stale.contains(need) || history.isRenewed(need, since: step.id)
      }
      if outcomes.isEmpty ? isStale : !outcomes.allSatisfy(done.contains) { stale.insert(step.id) }
      guard let end = ends[step.id], !stale.contains(step.id) else { continue }
      switch end.outcome {
      case .succeeded:
        let missing = step.outputs.filter { end.outputs[$0] == nil }
        if missing.isEmpty {
          done.insert(step.id)
        } else {
          missingOutputs[step.id] = missing
          stale.insert(step.id)
        }
      case .skipped: done.insert(step.id)
      case .failed, .cancelled: break
      }
    }
    return done
  }
}

/// When steps ended well, as places in the journal.
private struct History {
  /// The steps whose last success is void, and that haven't succeeded again.
  var undone: Set<String> = []
  private var goodEnds: [String: Int] = [:]
  private var successes: Set<String> = []
  /// When steps were made anew that had succeeded before.
  private var renewals: [String: Int] = [:]

  /// One that had succeeded is being made anew.
  mutating func began(_ step: String) {
    if successes.contains(step) { undone.insert(step) }
  }

  mutating func ended(_ step: String, _ outcome: OutcomeExpression.Outcome, at place: Int) {
    switch outcome {
    case .succeeded, .skipped:
      let isSuccess = outcome == .succeeded
      let isAgain = isSuccess && successes.contains(step)
      if undone.remove(step) != nil || isAgain { renewals[step] = place }
      goodEnds[step] = place
      if isSuccess { successes.insert(step) }
    case .failed, .cancelled: began(step)
    }
  }

  /// Whether a step was made anew after another one had ended well.
  func isRenewed(_ step: String, since other: String) -> Bool {
    guard let renewal = renewals[step], let end = goodEnds[other] else { return false }
    return renewal > end
  }
}

extension Workflow {
  /// The steps, each behind those that it needs; what is in a cycle comes last.
  package var stepsInOrder: [Step] {
    let places = Dictionary(steps.enumerated().map { ($1.id, $0) }) { first, _ in first }
    var open = steps.map { step in Set(step.predecessors).count { places[$0] != nil } }
    var successors = [[Int]](repeating: [], count: steps.count)
    for (index, step) in steps.enumerated() {
      for need in Set(step.predecessors) {
        if let place = places[need] { successors[place].append(index) }
      }
    }
    var order = steps.indices.filter { open[$0] == 0 }
    var next = 0
    while next < order.count {
      for successor in successors[order[next]] {
        open[successor] -= 1
        if open[successor] == 0 { order.append(successor) }
      }
      next += 1
    }
    let sorted = Set(order)
    return (order + steps.indices.filter { !sorted.contains($0) }).map { steps[$0] }
  }
}
