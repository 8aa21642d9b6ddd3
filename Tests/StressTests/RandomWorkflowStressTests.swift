import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import TestSupport
import Testing

private struct Flaw: Error {}

/// Random workflows on real threads; everything has to end, and nothing may stay held.
@Suite(.heavy, .serialized) struct `AdvancedStress: random workflows` {
  @Test(arguments: CoreStress.seeds)
  func `random workflows finish with one outcome each and hold nothing`(seed: UInt64) async throws {
    var random = CoreStress.Random(seed: seed)
    let domain = ClaimDomain()
    let environment = OperationEnvironment(claimDomain: domain)
    let queues = (0..<Int.random(in: 1...3, using: &random)).map { _ in
      let queue = AdvancedOperationQueue(environment: environment)
      if random.chance(50) {
        queue.maxConcurrentOperationCount = Int.random(in: 1...3, using: &random)
      }
      return queue
    }
    let holders = CoreStress.Tally()
    var all: [AdvancedOperation] = []
    for _ in 0..<Int.random(in: 2...60, using: &random) {
      let operation = makeOperation(&random, holders, among: all)
      all.append(operation)
    }
    let ends = CoreStress.Tally()
    for operation in all {
      operation.onFinish { _, _ in ends.add() }
      if !operation.dependencies.isEmpty && random.chance(30) {
        operation.addCondition(NoFailedDependencies())
      }
    }
    let cancelled = all.filter { _ in random.chance(15) }
    let plan = all.map { (operation: $0, queue: queues.randomElement(using: &random)) }
    await withTaskGroup { group in
      for entry in plan { group.addTask { entry.queue?.addOperation(entry.operation) } }
      for operation in cancelled { group.addTask { operation.cancel(withError: Flaw()) } }
      for queue in queues {
        group.addTask {
          queue.isSuspended = true
          await Task.yield()
          queue.isSuspended = false
        }
      }
    }
    for queue in queues { try await queue.untilAllOperationsAreFinished() }
    #expect(ends.now == all.count, "seed \(seed)")
    #expect(holders.now == 0 && holders.peak <= 1, "seed \(seed)")
    for operation in all {
      let outcome = try #require(operation.outcome, "seed \(seed)")
      switch outcome {
      case .cancelled: #expect(operation.isCancelled, "seed \(seed)")
      case .failed: #expect(!operation.errors.isEmpty, "seed \(seed)")
      case .succeeded, .skipped: #expect(operation.errors.isEmpty, "seed \(seed)")
      }
    }
    // Whoever comes now finds every claim free.
    let last = AdvancedOperation()
    last.addClaim(MutuallyExclusive("one", whenBusy: .fail))
    last.addClaim(MutuallyExclusive("other", whenBusy: .fail))
    queues[0].addOperation(last)
    try await last.untilFinished()
    #expect(last.outcome?.isSuccess == true, "seed \(seed)")
  }

  private func makeOperation(
    _ random: inout CoreStress.Random,
    _ holders: CoreStress.Tally,
    among others: [AdvancedOperation]
  ) -> AdvancedOperation {
    let fails = random.chance(15)
    let isExclusive = random.chance(30)
    let body: @Sendable () async throws -> Int = {
      if isExclusive { holders.add() }
      defer { if isExclusive { holders.add(-1) } }
      await Task.yield()
      if fails { throw Flaw() }
      return 1
    }
    let operation: AdvancedOperation
    switch Int.random(in: 0..<4, using: &random) {
    case 0: operation = ResultOperation(retry: .immediate.attempts(3), body: body)
    case 1 where !others.isEmpty && !isExclusive:
      operation = AdvancedOperation()
    case 2 where !isExclusive:
      let children = (0..<Int.random(in: 0...5, using: &random)).map { _ in
        ResultOperation(body: body)
      }
      operation = GroupOperation(errorPolicy: random.chance(50) ? .failFast : .collectAll) {
        children
      }
    default: operation = ResultOperation(body: body)
    }
    if isExclusive {
      operation.addClaim(MutuallyExclusive("one"))
      if random.chance(50) { operation.addClaim(MutuallyExclusive("other", limit: 2)) }
    }
    switch Int.random(in: 0..<5, using: &random) {
    case 0:
      operation.addCondition(
        BlockCondition("late") {
          await Task.yield(); return true
        }
      )
    case 1: operation.addCondition(BlockCondition("fails") { throw Flaw() })
    default: break
    }
    for _ in 0..<Int.random(in: 0...2, using: &random) {
      if let other = others.randomElement(using: &random) { operation.addDependency(other) }
    }
    return operation
  }
}
