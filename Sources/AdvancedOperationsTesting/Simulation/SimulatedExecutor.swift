import CoreOperations

/// Turns everything that it is given into steps; for queues and for tasks.
final class SimulatedExecutor: SteppedExecutor, TaskExecutor {
  private let simulation: Simulation

  init(simulation: Simulation) { self.simulation = simulation }

  func enqueue(_ worker: @escaping @Sendable () -> Void) { simulation.addPart(worker) }

  func enqueue(_ step: WorkerStep, _ body: @escaping @Sendable () -> Void) {
    simulation.add(step, body)
  }

  func didCreate(_ queue: any SteppedQueue) { simulation.didCreate(queue) }

  func enqueue(_ job: consuming ExecutorJob) { simulation.add(UnownedJob(job), on: self) }

  /// Each start is a step.
  var operationsPerWorker: Int { 1 }
}
