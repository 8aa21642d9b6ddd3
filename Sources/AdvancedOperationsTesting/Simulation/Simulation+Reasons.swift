import AdvancedOperations
import CoreOperations

extension Simulation {
  /// Returns the reason why an operation without pending steps has not finished, if its explanation
  /// contains one.
  ///
  /// - Parameter operation: An operation whose conditions or body have begun.
  /// - Returns: Sentences; nil if no reason is known, so that the operation may have left the
  ///   simulation.
  func reason(forStaying operation: AdvancedOperation) -> String? {
    let explanation = operation.explain()
    let kinds = explanation.causes.map(\.kind)
    if kinds.contains(.finishNotCalled) {
      return
        "It has returned from execute(), and waits for finish() to be called: call finish() on "
        + "every path. A callback that calls it in real time has left the simulation."
    }
    if sleepsForever(record(of: operation).subject) { return Self.endlessSleep }
    guard kinds.contains(where: { $0 != .executing && $0 != .condition }) else {
      return remark(aboutWaysOut: explanation, of: operation)
    }
    let remark = remark(aboutWaysOut: explanation, of: operation)
    return "It waits for other operations: \(explanation)" + remark.map { "\n\($0)" }.orEmpty
  }

  /// Returns whether code of an operation, or of a test, sleeps by the clock until the end of time.
  func sleepsForever(_ subject: StepSubject) -> Bool {
    withState { $0.alarms.hasEndlessSleep(of: subject) }
  }

  /// The reason for an operation that is in the simulation, but sleeps until the end of time.
  static let endlessSleep =
    "It sleeps by the clock until the end of time, so until it is cancelled: cancel it, and call "
    + "run() again."

  /// Returns the causes that keep an operation waiting, and the operations among them that have
  /// left the simulation.
  ///
  /// Other operations that have left the simulation aren't named.
  ///
  /// - Returns: The causes, and then a line for each operation that has left.
  func whatKeeps(_ operation: Operation) -> String {
    let explanation = operation.explain()
    let causes = explanation.causes + explanation.path + explanation.rootCauses
    let others = causes.flatMap { $0.operations + $0.involved }.filter { $0 !== operation }
    let own = strays(among: [operation]).first?.description
    var lines = [own ?? "\(explanation)"] + strays(among: others).map(\.description)
    // The description of an operation that waits for others already contains the remark.
    if let remark = remark(aboutWaysOut: explanation, of: operation),
      !lines.contains(where: { $0.contains(remark) })
    {
      lines.append(remark)
    }
    return lines.joined(separator: "\n")
  }

  /// Returns a remark about the operations of an explanation that aren't in this simulation.
  ///
  /// - Parameters:
  ///   - explanation: The explanation of the operation.
  ///   - operation: The operation.
  /// - Returns: A sentence for each queue that isn't in the simulation; nil if there is none.
  func remark(aboutWaysOut explanation: OperationExplanation, of operation: Operation) -> String? {
    let causes = explanation.causes + explanation.path + explanation.rootCauses
    var seen: Set<ObjectIdentifier> = []
    let sentences = ([operation] + causes.flatMap { $0.operations + $0.involved })
      .compactMap { other -> String? in
        guard !other.isFinished, let queue = other.homeQueue,
          let wayOut = wayOut(of: queue),
          seen.insert(ObjectIdentifier(queue)).inserted
        else { return nil }
        return "“\(other.label)” is in queue “\(queue.label)”, \(wayOut)"
      }
    return sentences.isEmpty ? nil : sentences.joined(separator: "\n")
  }

  /// Describes how the operations of a queue leave the simulation, with advice; nil if they don't
  /// leave it.
  private func wayOut(of queue: OperationQueue) -> String? {
    let environment = (queue as? AdvancedOperationQueue)?.environment
    guard let environment, (environment.tracer as? SimulationTracer)?.simulation === self else {
      return "which isn't in this simulation, so it continues in real time. Create the queue with "
        + "AdvancedOperationQueue(environment: simulation.environment)."
    }
    if environment.clock.identity === clockIdentity { return nil }
    return
      "which has the executor of this simulation and another clock, so its operations sleep by "
      + "that clock, outside of the simulation. Leave the clock of simulation.environment as it is."
  }

  /// Returns a hint for an operation that a time limit ended before its body slept by the clock;
  /// nil for other operations.
  func hint(aboutTimeLimitOf operation: AdvancedOperation) -> String? {
    guard operation.hasStarted, !(operation is any EndsByOwnCall),
      operation.errors.contains(where: { $0 is OperationTimeout }), !record(of: operation).hasSlept
    else { return nil }
    return "If its body sleeps: bodies sleep by the clock, as in "
      + "OperationClock.current.sleep(for: .seconds(1)). With Task.sleep they sleep in real "
      + "time, while virtual time moves to the time limit."
  }

  /// The explanations of operations that wait although nothing can happen any more; nil if there
  /// are none.
  ///
  /// Operations that wait for the test aren't included.
  var sentencesAboutWaiting: [String]? {
    guard isIdle else { return nil }
    let lost = unfinished.filter { !isHeldByTest($0) }
    return lost.isEmpty ? nil : lost.map { sentence(aboutWaiting: $0.explain()) }
  }

  /// Returns the text of an explanation, with the root causes that the text doesn't name.
  private func sentence(aboutWaiting explanation: OperationExplanation) -> String {
    let text = "\(explanation)"
    let others = explanation.rootCauses.filter {
      !isHeldByTest($0) && !text.contains("\($0)")
    }
    return ([text] + others.map { "also: \($0)" }).joined(separator: "\n")
  }

  /// The reason why nothing can happen any more: the operations that have not finished, with the
  /// causes of their waits.
  var whyIdle: String {
    if progress.current.count == 0 { return Self.nothingHasRun }
    let unfinished = unfinished
    guard !unfinished.isEmpty else {
      let strays = strays.map(\.description)
      let rest =
        strays.isEmpty
        ? "all operations of its queues have finished." : strays.joined(separator: "\n")
      return "Nothing can happen in the simulation any more: " + rest
    }
    return "Nothing can happen in the simulation any more:\n"
      + unfinished.prefix(3).map { whatKeeps($0) }.joined(separator: "\n")
      + (unfinished.count > 3 ? "\nand \(unfinished.count - 3) more." : "")
  }

  /// The message for a simulation in which nothing has run.
  static let nothingHasRun =
    "Nothing has run in the simulation: add operations to a queue that is created with "
    + "AdvancedOperationQueue(environment: simulation.environment), and call run()."

  /// Returns whether an operation waits only for the test.
  ///
  /// The test can resume a queue, open a gate, give a queue slots, answer with a probe, or release a held
  /// operation.
  func isHeldByTest(_ operation: Operation) -> Bool {
    let causes = operation.explain().rootCauses
    // An executing body waits for the other causes, as far as is known.
    let others = causes.filter { $0.kind != .condition && $0.kind != .executing }
    return !causes.isEmpty && (others.isEmpty ? causes : others).allSatisfy(isHeldByTest)
  }

  private func isHeldByTest(_ cause: OperationExplanation.Cause) -> Bool {
    if cause.kind == .suspended || cause.kind == .gate
      || cause.kind == .limit && cause.involved.isEmpty
    {
      return true
    }
    return cause.involved.contains { record(of: $0).isHeld }
      || cause.operations.allSatisfy { record(of: $0).isHeld }
  }

  /// Returns advice for an operation that isn't in a simulation.
  static func sentence(aboutMissing subject: String) -> String {
    "\(subject) isn't in a simulation: wait for its end before, or create its queue with "
      + "AdvancedOperationQueue(environment: simulation.environment)."
  }

  /// A sentence with the pending steps or timers; nil if there are none.
  var sentenceAboutPending: String? {
    let (steps, hasTimers, isLost) = withState { state in
      (
        state.steps.prefix(3).map(\.name), !state.alarms.isEmpty,
        state.watched.hasLostOperations
      )
    }
    if isLost {
      return
        "The SimulatedEnvironment was released, and nothing runs its operations any more: keep "
        + "it until they have finished."
    }
    if !steps.isEmpty {
      return "Steps of the simulation are pending (\(steps.joined(separator: ", "))): call run()."
    }
    return hasTimers ? "Timers of the simulation are pending: call run()." : nil
  }
}

extension String? {
  /// The text, or an empty text.
  var orEmpty: String { self ?? "" }
}
