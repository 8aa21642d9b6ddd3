import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import TestSupport
import Testing

@Suite(.heavy, .serialized) struct `AdvancedStress: slots that are released between attempts` {
  private struct Flaw: Error {}

  /// A body that is counted while it runs.
  private final class Retried: ResultOperation<Int>, @unchecked Sendable {
    // Sendable: all stored properties are immutable.
    private let live: CoreStress.Live

    init(
      _ live: CoreStress.Live,
      failures: Int,
      _ policy: RetryPolicy,
      inside: [CoreStress.Tally],
      suspends: Bool
    ) {
      self.live = live
      super.init(name: nil, retry: policy.releasingSlot()) {
        for tally in inside { tally.add() }
        defer { for tally in inside { tally.add(-1) } }
        if suspends { await Task.yield() }
        let attempt = AdvancedOperation.current?.attempt ?? 0
        if attempt <= failures { throw Flaw() }
        return attempt
      }
      live.born()
    }

    deinit { live.died() }
  }

  @Test
  func `random operations between attempts respect limits and release everything`() async throws {
    var random = CoreStress.Random(seed: 1)
    let environment = OperationEnvironment(claimDomain: ClaimDomain())
    let live = CoreStress.Live()
    for _ in 0..<CoreStress.scaled(60) {
      let limits = [1, 2, 4]
      let queues = limits.map { limit in
        let queue = AdvancedOperationQueue(environment: environment)
        queue.maxConcurrentOperationCount = limit
        return queue
      }
      let slots = limits.map { _ in CoreStress.Tally() }
      let claimed = CoreStress.Tally()
      var operations: [Retried] = []
      for _ in 0..<100 {
        let number = Int.random(in: 0..<queues.count, using: &random)
        let hasClaim = random.chance(40)
        let policy: RetryPolicy =
          random.chance(50)
          ? .immediate.attempts(3) : .constant(.microseconds(50)).attempts(3)
        let operation = Retried(
          live,
          failures: Int.random(in: 0...3, using: &random),
          policy,
          inside: hasClaim ? [slots[number], claimed] : [slots[number]],
          suspends: random.chance(50)
        )
        if hasClaim { operation.addClaim(MutuallyExclusive("x")) }
        if random.chance(10) { operation.addClaim(RateLimit("y", 50, per: .milliseconds(1))) }
        queues[number].addOperation(operation)
        operations.append(operation)
        if random.chance(15) { operations.randomElement(using: &random)?.cancel() }
        if random.chance(3) { queues[number].addBarrierBlock {} }
        if random.chance(5) {
          queues[number].isSuspended = true
          queues[number].isSuspended = false
        }
      }
      for queue in queues { try await queue.untilAllOperationsAreFinished() }
      for (slot, limit) in zip(slots, limits) { #expect(slot.peak <= limit) }
      #expect(claimed.peak <= 1)
      #expect(slots.allSatisfy { $0.now == 0 } && claimed.now == 0)
      for operation in operations { #expect(operation.isFinished) }
      // What they had is free.
      for queue in queues {
        let last = ResultOperation { 1 }
        last.addClaim(MutuallyExclusive("x"))
        queue.addOperation(last)
        #expect(try await last.value == 1)
      }
    }
    await live.ended()
  }
}

@Suite(.heavy, .serialized) struct `AdvancedStress: slots that are released in bodies` {
  /// A body that awaits operations of its queue without its slot, at several levels.
  private static func operation(
    depth: Int,
    in queue: AdvancedOperationQueue,
    _ inside: CoreStress.Tally,
    _ suspends: Bool
  ) -> ResultOperation<Int> {
    ResultOperation {
      // What is cancelled may go on without a slot.
      let own = AdvancedOperation.current
      func work() async {
        if own?.isCancelled == true { return }
        inside.add()
        if suspends { await Task.yield() }
        inside.add(-1)
      }
      await work()
      var sum = 1
      if depth > 0 {
        sum += try await releasingSlot {
          try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<2 {
              group.addTask {
                try await releasingSlot {
                  try await queue.run(operation(depth: depth - 1, in: queue, inside, suspends))
                }
              }
            }
            return try await group.reduce(0, +)
          }
        }
      } else {
        await releasingSlot { if suspends { await Task.yield() } }
      }
      await work()
      return sum
    }
  }

  @Test func `limits aren't exceeded, and each released slot is taken again`() async throws {
    var random = CoreStress.Random(seed: 1)
    for round in 0..<CoreStress.scaled(60) {
      let queue = AdvancedOperationQueue()
      let limit = 1 + round % 3
      queue.maxConcurrentOperationCount = limit
      let inside = CoreStress.Tally()
      var operations: [ResultOperation<Int>] = []
      for _ in 0..<20 {
        let depth = Int.random(in: 0...3, using: &random)
        let operation = Self.operation(depth: depth, in: queue, inside, random.chance(50))
        queue.addOperation(operation)
        operations.append(operation)
        if random.chance(15) { operations.randomElement(using: &random)?.cancel() }
        if random.chance(5) {
          queue.isSuspended = true
          queue.isSuspended = false
        }
      }
      try await queue.untilAllOperationsAreFinished()
      #expect(inside.peak <= limit)
      #expect(inside.now == 0)
      for operation in operations { #expect(operation.isFinished) }
      let last = ResultOperation { 1 }
      #expect(try await queue.run(last) == 1)
    }
  }
}
