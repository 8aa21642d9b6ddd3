import AdvancedOperations
import AdvancedOperationsTesting

/// Seeds of simulated worlds; a case that fails prints its own.
let seeds: ClosedRange<UInt64> = 1...50

/// A simulation and a queue in it.
struct World {
  let simulation: SimulatedEnvironment
  let queue: AdvancedOperationQueue

  init(seed: UInt64 = 1, limit: Int = OperationQueue.defaultMaxConcurrentOperationCount) {
    simulation = SimulatedEnvironment(seed: seed)
    queue = AdvancedOperationQueue(environment: simulation.environment)
    queue.maxConcurrentOperationCount = limit
  }

  /// Adds operations and lets everything happen that can.
  func run(_ operations: Operation...) {
    queue.addOperations(operations)
    simulation.run()
  }

  func makeQueue(limit: Int = 1) -> AdvancedOperationQueue {
    let queue = AdvancedOperationQueue(environment: simulation.environment)
    queue.maxConcurrentOperationCount = limit
    return queue
  }
}

/// A generator for the choices of a test.
struct Random: RandomNumberGenerator {
  private var generator: SplitMix64

  init(_ seed: UInt64) { generator = SplitMix64(seed: seed) }

  mutating func next() -> UInt64 { generator.next() }
}
