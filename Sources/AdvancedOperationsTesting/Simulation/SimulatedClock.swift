import AdvancedOperations
import CoreOperations

/// The time of a simulation.
final class SimulatedClock: OperationClock.Source {
  let simulation: Simulation

  init(simulation: Simulation) { self.simulation = simulation }

  var identity: ClockIdentity { simulation.clockIdentity }
  var now: Duration { simulation.now }

  func sleep(until deadline: Duration) async throws {
    let subject = StepContext.subject(in: simulation)
    simulation.withState { $0.names.sleeps(subject) }
    let wait = AsyncWait()
    let timer = OperationTimer { wait.finish() }
    try await wait.run { _ in
      // As the clocks of the system do, and without a step: nothing comes in between on threads.
      guard deadline > now || simulation.sleepsTooOften() else { return false }
      simulation.schedule(at: deadline, timer, isSleep: true)
      return true
    } unregister: { _ in
      // Or time would move to a moment at which nothing happens.
      timer.cancel()
    }
  }

  func schedule(
    at deadline: Duration,
    _ action: @escaping @Sendable () -> Void
  ) -> OperationTimer {
    let timer = OperationTimer(action)
    simulation.schedule(at: deadline, timer)
    return timer
  }
}
