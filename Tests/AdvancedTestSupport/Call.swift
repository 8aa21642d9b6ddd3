import AdvancedOperations
package import AdvancedOperationsTesting

/// A call in a task of a simulation.
package struct Call: Sendable {
  package let result = Changing<Result<Int, any Error>?>(nil)
  package let end = Changing<Duration?>(nil)
  package let task: Task<Void, Never>

  package init(
    _ simulation: SimulatedEnvironment,
    after delay: Duration = .zero,
    priority: TaskPriority? = nil,
    _ body: @escaping @Sendable () async throws -> Int
  ) {
    let clock = simulation.environment.clock
    let executor = simulation.environment.executor as? any TaskExecutor
    task = Task(executorPreference: executor, priority: priority) { [result, end] in
      do {
        if delay > .zero { try await clock.sleep(for: delay) }
        result.value = .success(try await body())
      } catch {
        result.value = .failure(error)
      }
      end.value = clock.now
    }
  }

  package init(
    _ world: World,
    after delay: Duration = .zero,
    priority: TaskPriority? = nil,
    _ body: @escaping @Sendable () async throws -> Int
  ) {
    self.init(world.simulation, after: delay, priority: priority, body)
  }

  /// Whether the call threw because its task was cancelled.
  package var wasCancelled: Bool {
    if case .failure(let error) = result.value { error is CancellationError } else { false }
  }
}
