import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import Testing

private struct Offline: Error {}

/// What the guides say about time in a simulation.
@Suite struct `Time in a simulation` {
  @Test(arguments: SimulatedEnvironment.seeds)
  func `a timeout doesn't pass between steps of a body that doesn't sleep`(
    seed: UInt64
  ) throws {
    let simulation = SimulatedEnvironment(seed: seed)
    let queue = AdvancedOperationQueue(environment: simulation.environment)
    let work = ResultOperation(name: "work") { for _ in 1...100 { await Task.yield() } }
    work.addObserver(TimeoutObserver(.nanoseconds(1)))
    queue.addOperation(work)
    simulation.run()
    try expectOutcome(of: work, is: .succeeded)
    #expect(simulation.now == .zero)
  }

  @Test(arguments: [false, true])
  func `virtual time separates attempts only by a delay`(hasDelay: Bool) throws {
    let simulation = SimulatedEnvironment(seed: 1)
    let queue = AdvancedOperationQueue(environment: simulation.environment)
    let policy: RetryPolicy =
      hasDelay ? .constant(.seconds(1)).attempts(3) : .immediate.attempts(3)
    let attemptCount = Locked(0)
    let work = ResultOperation(name: "work", retry: policy) {
      attemptCount.withLock { $0 += 1 }
      throw Offline()
    }
    queue.addOperation(work)
    var counts: [Int] = []
    while simulation.step() {
      let count = attemptCount.withLock { $0 }
      if count != counts.last ?? 0 { counts.append(count) }
    }
    #expect(counts == (hasDelay ? [1, 2, 3] : [3]))
  }
}

/// What an app's user interface shows.
@MainActor private final class Model {
  private let queue: AdvancedOperationQueue
  private(set) var isLoading = false
  private(set) var title = ""

  init(_ queue: AdvancedOperationQueue) { self.queue = queue }

  func load() async throws {
    isLoading = true
    defer { isLoading = false }
    let clock = queue.environment.clock
    let id = try await queue.run(
      ResultOperation(name: "id") {
        try await clock.sleep(for: .seconds(1))
        return 7
      }
    )
    title = try await queue.run(ResultOperation(name: "title") { "Page \(id)" })
  }
}

@MainActor @Suite struct `A model of the main actor` {
  @Test(arguments: SimulatedEnvironment.seeds)
  func `a model of the main actor is tested between runs of the simulation`(
    seed: UInt64
  ) async throws {
    let simulation = SimulatedEnvironment(seed: seed)
    let model = Model(AdvancedOperationQueue(environment: simulation.environment))
    var isDone = false
    let loading = Task {
      defer { isDone = true }
      try await model.load()
    }
    while !isDone {
      await Task.yield()
      simulation.run()
    }
    try await loading.value
    #expect(model.title == "Page 7" && !model.isLoading)
    #expect(simulation.now == .seconds(1))
  }

  @Test func `a test sees a main actor model that waits for an operation`() async throws {
    let simulation = SimulatedEnvironment(seed: 1)
    let model = Model(AdvancedOperationQueue(environment: simulation.environment))
    let loading = Task { try await model.load() }
    while !model.isLoading { await Task.yield() }
    simulation.run()
    #expect(model.isLoading && simulation.now == .seconds(1))
    loading.cancel()
    while model.isLoading {
      await Task.yield()
      simulation.run()
    }
    await #expect(throws: CancellationError.self) { try await loading.value }
  }
}
