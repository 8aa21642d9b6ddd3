package import AdvancedOperations
package import AdvancedOperationsTesting
import TestSupport

/// Seeds of simulated worlds; a case that fails prints its own.
package let seeds = Effort.seeds()

/// A simulation and a queue in it.
package struct World {
  package let simulation: SimulatedEnvironment
  package let queue: AdvancedOperationQueue

  package init(seed: UInt64 = 1, limit: Int = OperationQueue.defaultMaxConcurrentOperationCount) {
    simulation = SimulatedEnvironment(seed: seed)
    queue = AdvancedOperationQueue(environment: simulation.environment)
    queue.maxConcurrentOperationCount = limit
    WatchedQueues.add(queue)
  }

  /// Adds operations and lets everything happen that can.
  package func run(_ operations: Operation...) {
    queue.addOperations(operations)
    simulation.run()
  }

  package func makeQueue(limit: Int = 1) -> AdvancedOperationQueue {
    let queue = AdvancedOperationQueue(environment: simulation.environment)
    queue.maxConcurrentOperationCount = limit
    WatchedQueues.add(queue)
    return queue
  }
}

/// A generator for the choices of a test.
package struct Random: RandomNumberGenerator {
  private var generator: SplitMix64

  package init(_ seed: UInt64) { generator = SplitMix64(seed: seed) }

  package mutating func next() -> UInt64 { generator.next() }
}

extension World {
  /// An operation whose body takes some virtual time.
  package func taking(_ seconds: Int, _ name: String) -> ResultOperation<Void> {
    let clock = simulation.environment.clock
    return ResultOperation(name: name) {
      try await clock.sleep(until: clock.now + .seconds(seconds))
    }
  }

  /// A condition that is satisfied after some virtual time.
  package func askedFor(_ seconds: Int) -> Asked {
    let clock = simulation.environment.clock
    return Asked { _ in
      try? await clock.sleep(until: clock.now + .seconds(seconds))
      return .satisfied
    }
  }
}
