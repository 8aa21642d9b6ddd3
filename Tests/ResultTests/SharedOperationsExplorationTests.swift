import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import CoreOperations
import TestSupport
import Testing

/// Each order of joining, leaving, ending and failing.
@Suite struct `Shared operations in any order` {
  /// Checks what holds after each schedule.
  private static func check(_ desk: Desk, _ queue: OperationQueue) throws {
    try #require(desk.bodies.most <= 1)
    try #require(desk.shared.isEmpty)
    try #require(queue.operationCount == 0)
  }

  @Test func `a remaining caller gets a value while other callers leave`() throws {
    let report = try exploreSchedules(
      depthFirst: Effort.schedules(2_000),
      randomSchedules: Effort.drawn(200)
    ) { simulation in
      let queue = AdvancedOperationQueue(environment: simulation.environment)
      let desk = Desk(simulation, queue, taking: .zero)
      let leaving = desk.call(1)
      let staying = desk.call(1)
      simulation.addStep("leave", atAnyTime: true) { leaving.task.cancel() }
      simulation.run()
      try #require(try staying.result.value?.get() == 1)
      if !leaving.wasCancelled { try #require(try leaving.result.value?.get() == 1) }
      try Self.check(desk, queue)
    }
    #expect(report.scheduleCount > 50)
  }

  @Test func `the last caller may leave while another caller arrives`() throws {
    let report = try exploreSchedules(
      depthFirst: Effort.schedules(2_000),
      randomSchedules: Effort.drawn(200)
    ) { simulation in
      let queue = AdvancedOperationQueue(environment: simulation.environment)
      let desk = Desk(simulation, queue, taking: .seconds(1), ignoringCancels: true)
      let leaving = desk.call(1)
      let coming = Changing<Call?>(nil)
      simulation.addStep("leave", atAnyTime: true) { leaving.task.cancel() }
      simulation.addStep("come", atAnyTime: true) { coming.value = desk.call(1) }
      simulation.run()
      try #require(try coming.value?.result.value?.get() == 1)
      try Self.check(desk, queue)
    }
    #expect(report.scheduleCount > 50)
  }

  @Test func `a failing body, a fresh call, and a cancel`() throws {
    let report = try exploreSchedules(
      depthFirst: Effort.schedules(2_000),
      randomSchedules: Effort.drawn(200)
    ) { simulation in
      let queue = AdvancedOperationQueue(environment: simulation.environment)
      let desk = Desk(simulation, queue, taking: .zero) { if $0 == 0 { throw Flaw(1) } }
      let first = desk.call(1)
      let fresh = desk.call(1, fresh: true)
      simulation.addStep("leave", atAnyTime: true) { first.task.cancel() }
      simulation.run()
      switch fresh.result.value {
      case .success(let value): try #require(value == 1)
      case .failure(let failure):
        // Its operation was the first.
        let elements = (failure as? OperationFailure)?.elements
        try #require(elements?.map(\.error).first as? Flaw == Flaw(1))
      case nil: throw Flaw(2)
      }
      try Self.check(desk, queue)
    }
    #expect(report.scheduleCount > 50)
  }

  @Test func `an operation that the program cancels ends for all waiting callers`() throws {
    let report = try exploreSchedules(
      depthFirst: Effort.schedules(2_000),
      randomSchedules: Effort.drawn(200)
    ) { simulation in
      let queue = AdvancedOperationQueue(environment: simulation.environment)
      let desk = Desk(simulation, queue, taking: .zero)
      let calls = [desk.call(1), desk.call(1, fresh: true)]
      simulation.addStep("cancel", atAnyTime: true) {
        desk.shared.operation(for: 1)?.cancel(withError: Flaw(1))
      }
      simulation.run()
      for call in calls {
        let result = try #require(call.result.value)
        if case .failure(let error) = result { try #require(error is OperationFailure) }
      }
      try Self.check(desk, queue)
    }
    #expect(report.scheduleCount > 50)
  }

  @Test func `a fresh call that would wait for itself leaves while another call arrives`() throws {
    let report = try exploreSchedules(
      depthFirst: Effort.schedules(2_000),
      randomSchedules: Effort.drawn(200)
    ) { simulation in
      let queue = AdvancedOperationQueue(environment: simulation.environment)
      let own = Locked<SharedOperations<Int, Int>?>(nil)
      let bodies = Counter()
      let shared = SharedOperations<Int, Int>(queue: queue) { key in
        ResultOperation(name: "number") {
          guard bodies.add() == 1 else { return key }
          _ = try? await own.withLock({ $0 })?.freshValue(for: key)
          return key
        }
      }
      own.withLock { $0 = shared }
      let first = Call(simulation) { try await shared.value(for: 1) }
      let coming = Changing<Call?>(nil)
      simulation.addStep("come", atAnyTime: true) {
        coming.value = Call(simulation) { try await shared.freshValue(for: 1) }
      }
      simulation.run()
      own.withLock { $0 = nil }
      try #require(try first.result.value?.get() == 1)
      try #require(try coming.value?.result.value?.get() == 1)
      try #require(shared.isEmpty)
    }
    #expect(report.scheduleCount > 50)
  }

  @Test func `bodies never overlap if callers leave on threads at the same time`()
    async
  {
    let queue = AdvancedOperationQueue()
    let bodies = (0..<8).map { _ in Counter() }
    let shared = SharedOperations<Int, Int>(queue: queue) { key in
      ResultOperation {
        bodies[key].add()
        for _ in 0..<3 { await Task.yield() }
        bodies[key].add(-1)
        return key
      }
    }
    await withTaskGroup(of: Void.self) { group in
      for key in 0..<8 {
        group.addTask {
          for round in 0..<Effort.rounds(5_000) {
            let call = Task { try await shared.value(for: key) }
            for _ in 0..<(round % 8) { await Task.yield() }
            call.cancel()
            do { #expect(try await call.value == key) } catch {
              #expect(error is CancellationError)
            }
          }
        }
      }
    }
    #expect(bodies.allSatisfy { $0.peak <= 1 })
    try? await queue.untilAllOperationsAreFinished()
  }

  @Test(.heavy) func `no two bodies of a key run at the same time on many threads`() async throws {
    let queue = AdvancedOperationQueue()
    let counters = (0..<4).map { _ in Counter() }
    let shared = SharedOperations<Int, Int>(queue: queue) { key in
      ResultOperation {
        counters[key].add()
        await Task.yield()
        counters[key].add(-1)
        try Task.checkCancellation()
        return key
      }
    }
    await withTaskGroup(of: Void.self) { group in
      for number in 0..<4_000 {
        group.addTask {
          let key = number % 4
          let call = Task {
            number % 7 == 0
              ? try await shared.freshValue(for: key) : try await shared.value(for: key)
          }
          if number % 3 == 0 {
            await Task.yield()
            call.cancel()
          }
          do { #expect(try await call.value == key) } catch {
            if number % 3 != 0 { Issue.record("a caller who stayed got \(error)") }
          }
        }
      }
    }
    #expect(counters.allSatisfy { $0.peak <= 1 })
    try await queue.untilAllOperationsAreFinished()
  }
}
