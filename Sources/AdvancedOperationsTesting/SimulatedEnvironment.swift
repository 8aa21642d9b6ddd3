public import AdvancedOperations

/// A world in which time stands still until told otherwise, and one thing happens at a time.
///
/// Everything that operations do in it (workers, async bodies, conditions, timeouts, retries) becomes
/// a step. ``run()`` takes the steps one after the other on the calling thread, each time picking one
/// of those that could be next, as a generator says that begins with the seed: another seed gives
/// another interleaving, the same seed the same one and the same ``log``. When there is nothing to
/// do, time moves on to the next timer, so that a day of waiting takes no time.
///
/// ```swift
/// let simulation = SimulatedEnvironment(seed: 1)
/// let queue = AdvancedOperationQueue(environment: simulation.environment)
/// let download = ResultOperation(retry: .constant(.seconds(60), attempts: 3)) { throw Offline() }
/// queue.addOperation(download)
/// simulation.run()
/// #expect(download.errors.count == 3)
/// #expect(simulation.now == .seconds(120))
/// ```
///
/// What leaves the simulation isn't waited for: a thread of its own, a real sleep, the main actor.
public final class SimulatedEnvironment: Sendable {
  private let simulation: Simulation
  private let exclusivity = ExclusivityDomain()

  /// Creates a world at time zero, with an exclusivity domain of its own.
  ///
  /// - Parameter seed: Equal seeds give equal runs.
  public init(seed: UInt64) { simulation = Simulation(seed: seed) }

  /// What the simulation began with; print it when a test fails.
  public var seed: UInt64 { simulation.seed }

  /// The environment to give to queues.
  public var environment: OperationEnvironment {
    var environment = OperationEnvironment(
      clock: OperationClock(source: SimulatedClock(simulation: simulation)),
      executor: SimulatedExecutor(simulation: simulation),
      exclusivity: exclusivity
    )
    let simulation = simulation
    environment.random = { simulation.random() }
    environment.tracer = SimulationTracer(simulation: simulation)
    return environment
  }

  /// The virtual time since the beginning.
  public var now: Duration { simulation.now }

  /// Takes steps, and moves time, until nothing can happen any more.
  ///
  /// - Precondition: Not called from a step.
  public func run() { simulation.run(until: nil) }

  /// Takes the steps that happen within a time, and moves time to its end.
  ///
  /// - Parameter duration: Zero takes what can be done without moving time.
  /// - Precondition: Not called from a step.
  public func advance(by duration: Duration) { simulation.run(until: simulation.now + duration) }

  /// What has happened, a line each: which step was picked, and which states were entered.
  ///
  /// Equal byte for byte for equal seeds.
  public var log: String { simulation.log }
}
