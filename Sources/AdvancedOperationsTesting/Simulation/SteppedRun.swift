import AdvancedOperations
import CoreOperations

/// A run of a workflow that an explorer stops after a number of steps.
///
/// Releases the operations of the workflow with itself.
final class SteppedRun {
  let simulation: SimulatedEnvironment
  private let call: String

  /// - Parameters:
  ///   - seed: The seed of the simulation.
  ///   - call: The name of the explorer.
  ///   - stepLimit: The number of steps that the run may have.
  ///   - progress: The progress of the exploration.
  init(seed: UInt64, call: String, _ stepLimit: Int, _ progress: ExplorationProgress) {
    simulation = SimulatedEnvironment(seed: seed)
    self.call = call
    simulation.simulation.withState { $0.stepLimit = stepLimit }
    progress.begins(simulation.simulation)
  }

  // A task that is suspended, or the workflow, may keep the simulation.
  deinit { simulation.simulation.abandon() }

  /// The number of steps that were taken.
  var stepCount: Int { simulation.simulation.withState { $0.takenCount } }

  /// Takes steps until the run has that many, or nothing can happen any more.
  ///
  /// - Throws: `CancellationError` if the task that explores is cancelled.
  func proceed(upTo limit: Int) throws {
    let simulation = simulation.simulation
    simulation.run(until: nil, call: call) { simulation.withState { $0.takenCount } >= limit }
    try simulation.checkNotCancelled()
  }

  /// Says that the closure of a test has run the simulation itself; nil if it hasn't.
  ///
  /// Steps that the closure takes are steps after which an explorer can't stop.
  ///
  /// - Parameters:
  ///   - explorer: The name of the function that takes the steps.
  ///   - purpose: Why it takes them, as the end of a sentence.
  /// - Returns: A clause about “the closure”, and a sentence with advice.
  func remark(aboutRunBefore explorer: String, _ purpose: String) -> String? {
    guard let call = simulation.simulation.withState({ $0.lastCall }) else { return nil }
    return "the closure ran the simulation, with \(call). Leave that out: it only makes the "
      + "operations and adds them to queues. \(explorer) takes the steps, so that \(purpose)."
  }
}
