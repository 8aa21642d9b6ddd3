import AdvancedOperations
import CoreOperations

extension Simulation {
  /// Why an operation that nothing is pending of has not ended, as far as explanations know.
  ///
  /// - Parameter operation: One whose body, or whose conditions, have begun.
  /// - Returns: Sentences; nil when nothing is known, so that it may have left the simulation.
  func reason(forStaying operation: AdvancedOperation) -> String? {
    let explanation = operation.explain()
    let kinds = explanation.causes.map(\.kind)
    if kinds.contains(.finishNotCalled) {
      return
        "It has returned from execute(), and waits for finish() to be called: call finish() on "
        + "every path. A callback that calls it in real time has left the simulation."
    }
    guard kinds.contains(where: { $0 != .executing && $0 != .condition }) else { return nil }
    let remark = remark(aboutWaysOut: explanation, of: operation)
    return "It waits for others: \(explanation)" + remark.map { "\n\($0)" }.orEmpty
  }

  /// Says what keeps an operation, and what has left the simulation of all that it waits for.
  ///
  /// Other operations that have left the simulation aren't named.
  ///
  /// - Returns: What keeps the operation, and then a line for each that has left.
  func whatKeeps(_ operation: Operation) -> String {
    let explanation = operation.explain()
    let causes = explanation.causes + explanation.path + explanation.rootCauses
    let others = causes.flatMap { [$0.operation] + $0.involved }.filter { $0 !== operation }
    let own = strays(among: [operation]).first?.description
    var lines = [own ?? "\(explanation)"] + strays(among: others).map(\.description)
    // One that waits for others has said so.
    if let remark = remark(aboutWaysOut: explanation, of: operation),
      !lines.contains(where: { $0.contains(remark) })
    {
      lines.append(remark)
    }
    return lines.joined(separator: "\n")
  }

  /// Says which of the operations that an explanation names aren't in this simulation.
  ///
  /// - Parameters:
  ///   - explanation: What keeps the operation.
  ///   - operation: The operation.
  /// - Returns: A sentence for each queue; nil when all are.
  func remark(aboutWaysOut explanation: OperationExplanation, of operation: Operation) -> String? {
    let causes = explanation.causes + explanation.path + explanation.rootCauses
    var seen: Set<ObjectIdentifier> = []
    let sentences = ([operation] + causes.flatMap { [$0.operation] + $0.involved })
      .compactMap { other -> String? in
        guard !other.isFinished, let queue = other.homeQueue, !isWorld(of: queue.operationQueue),
          seen.insert(ObjectIdentifier(queue)).inserted
        else { return nil }
        return "“\(other.label)” is in queue “\(queue.label)”, which isn't of this simulation, and "
          + "so goes on in real time. Make the queue with "
          + "AdvancedOperationQueue(environment: simulation.environment)."
      }
    return sentences.isEmpty ? nil : sentences.joined(separator: "\n")
  }

  private func isWorld(of queue: OperationQueue) -> Bool {
    let environment = (queue as? AdvancedOperationQueue)?.environment
    return (environment?.tracer as? SimulationTracer)?.simulation === self
  }

  /// Says which operations have not finished, unless they wait for the test; nil without any.
  ///
  /// Only right if nothing can happen any more.
  var sentenceAboutUnfinished: String? {
    let left = unfinished.filter { !waitsForTest($0) }
    if left.isEmpty { return nil }
    let lines = left.prefix(3).map { "“\($0.label)” has not finished: \(whatKeeps($0))" }
    let more = left.count > 3 ? ["\(left.count - 3) more have not finished."] : []
    return (lines + more).joined(separator: "\n")
  }

  /// Whether the test keeps an operation from finishing: with a suspended queue or one without
  /// slots, a ``HeldOperation`` or a ``ConditionProbe``.
  private func waitsForTest(_ operation: Operation) -> Bool {
    operation.explain().rootCauses.contains { cause in
      cause.kind == .suspended || cause.kind == .limit || record(of: cause.operation).isHeld
    }
  }

  /// What to say of an operation that a time limit ended before its body had slept by the clock;
  /// nil when that isn't so.
  func hint(aboutTimeLimitOf operation: AdvancedOperation) -> String? {
    guard operation.hasStarted, !(operation is any EndsByOwnCall),
      operation.errors.contains(where: { $0 is OperationTimeout }), !record(of: operation).hasSlept
    else { return nil }
    return "If its body sleeps: bodies sleep by the clock, as in "
      + "operation.environment.clock.sleep(for: .seconds(1)). With Task.sleep they sleep in real "
      + "time, while virtual time goes on to the time limit."
  }

  /// Says of operations that are in no simulation what to do.
  static func sentence(aboutMissing subject: String) -> String {
    "\(subject) is in no simulation: wait for its end before, or make its queue with "
      + "AdvancedOperationQueue(environment: simulation.environment)."
  }

  /// Says that steps or timers are pending; nil when none is.
  var sentenceAboutPending: String? {
    let (steps, hasTimers) = withState { ($0.steps.prefix(3).map(\.name), !$0.alarms.isEmpty) }
    if !steps.isEmpty {
      return "Steps of the simulation are pending (\(steps.joined(separator: ", "))): call run()."
    }
    return hasTimers ? "Timers of the simulation are pending: call run()." : nil
  }
}

extension String? {
  /// The text, or none.
  var orEmpty: String { self ?? "" }
}
