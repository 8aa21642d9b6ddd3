import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import TestSupport
import Testing

/// Nothing is lost when very many fail at the same moment.
@Suite(.heavy, .serialized) struct `AdvancedStress: failures` {
  private struct Numbered: Error, Hashable {
    let number: Int
  }

  /// Operations that all wait for the gate, and fail when it opens.
  private static func failing(
    _ count: Int,
    _ gate: Latch,
    _ arrivals: Countdown,
    _ ends: CoreStress.Tally
  ) -> [AdvancedOperation] {
    (0..<count).map { number in
      let operation = ResultOperation(name: "o\(number)") {
        arrivals.count()
        await gate.opened()
        throw Numbered(number: number)
      }
      operation.onFinish { _, _ in ends.add() }
      return operation
    }
  }

  private static func check(_ failure: OperationFailure?, _ count: Int) {
    #expect(failure?.elements.count == count)
    #expect(failure?.notRunCount == 0)
    // In the order of adding, each with its origin.
    let isInOrder = failure?.elements.enumerated().allSatisfy { index, element in
      element.error as? Numbered == Numbered(number: index)
        && element.origin == .child("o\(index)", .body) && !element.isInherited
    }
    #expect(isInOrder == true)
  }

  @Test func `ten thousand children that fail at the same time are all reported`()
    async throws
  {
    let count = CoreStress.scaled(10_000)
    let (gate, arrivals) = (Latch(), Countdown(count))
    let ends = CoreStress.Tally()
    let group = GroupOperation(maxConcurrentOperationCount: count) {
      Self.failing(count, gate, arrivals, ends)
    }
    AdvancedOperationQueue().addOperation(group)
    await arrivals.done.opened()
    gate.open()
    try await group.untilFinished()
    Self.check(group.outcome?.failure, count)
    #expect(group.errors.count == count)
    #expect(ends.now == count)
  }

  @Test func `ten thousand failures of a scope are reported as 128 errors`()
    async throws
  {
    let count = CoreStress.scaled(10_000)
    let (gate, arrivals) = (Latch(), Countdown(count))
    let ends = CoreStress.Tally()
    do {
      try await withOperations { scope in
        for operation in Self.failing(count, gate, arrivals, ends) { scope.add(operation) }
        gate.open()
      }
      Issue.record("it returned")
    } catch let failure as OperationFailure {
      // Those of the first and the last 64, in the order of adding.
      let numbers = failure.elements.compactMap { ($0.error as? Numbered)?.number }
      #expect(numbers.count == 128 && numbers == numbers.sorted())
      #expect("\(failure)".contains("\(count - 128) more failed operations"))
    }
    #expect(ends.now == count)
  }

  @Test func `failFast with ten thousand failing children loses no failure`()
    async throws
  {
    let count = CoreStress.scaled(10_000)
    let (gate, arrivals) = (Latch(), Countdown(count))
    let ends = CoreStress.Tally()
    let group = GroupOperation(errorPolicy: .failFast, maxConcurrentOperationCount: count) {
      Self.failing(count, gate, arrivals, ends)
    }
    AdvancedOperationQueue().addOperation(group)
    await arrivals.done.opened()
    gate.open()
    try await group.untilFinished()
    // A body that threw after its cancel has an error all the same.
    Self.check(group.outcome?.failure, count)
    #expect(ends.now == count)
    #expect(!group.isCancelled)
  }

  /// Lives of all kinds, on threads: what is promised of outcome and errors holds for each.
  @Test func `outcome, cancel flag and errors always agree`() async throws {
    for seed in CoreStress.seeds {
      var random = CoreStress.Random(seed: seed)
      let queue = AdvancedOperationQueue(
        environment: OperationEnvironment(claimDomain: ClaimDomain())
      )
      var all: [AdvancedOperation] = []
      for number in 0..<40 {
        all.append(Self.life(number, among: all, &random))
      }
      let cancelled = all.indices.filter { _ in random.chance(25) }
      let operations = all
      await withTaskGroup { group in
        group.addTask { queue.addOperations(operations) }
        for index in cancelled {
          group.addTask { operations[index].cancel(withError: Numbered(number: 1_000 + index)) }
        }
      }
      try await queue.untilAllOperationsAreFinished()
      for operation in operations {
        #expect(Self.problem(of: operation) == nil, "OPERATIONS_STRESS_SEED=\(seed)")
      }
    }
  }

  private static func life(
    _ number: Int,
    among others: [AdvancedOperation],
    _ random: inout CoreStress.Random
  ) -> AdvancedOperation {
    let fails = random.chance(30)
    let body: @Sendable () async throws -> Int = {
      await Task.yield()
      if fails { throw Numbered(number: number) }
      return number
    }
    let operation: AdvancedOperation
    switch Int.random(in: 0..<6, using: &random) {
    case 0:
      operation = RetryOperation(retry: .immediate.attempts(2)) { _ in ResultOperation(body: body)
      }
    case 1: operation = RepeatOperation(times: 2) { _ in ResultOperation(body: body) }
    case 2: operation = GroupOperation { [ResultOperation(body: body), AdvancedOperation()] }
    case 3:
      if let other = others.randomElement(using: &random) as? ResultOperation<Int> {
        operation = other.then { $0 + 1 }
      } else {
        operation = DelayOperation(.microseconds(1))
      }
    default: operation = ResultOperation(retry: .immediate.attempts(2), body: body)
    }
    operation.name = "o\(number)"
    if let other = others.randomElement(using: &random) { operation.addDependency(other) }
    if random.chance(20) {
      operation.addCondition(BlockCondition("fails") { throw Numbered(number: number) })
    }
    if random.chance(20) { operation.addCondition(Skipping()) }
    if random.chance(20) { operation.addCondition(NoFailedDependencies()) }
    return operation
  }

  private struct Skipping: ImmediateCondition {
    func check(_ operation: AdvancedOperation) -> OperationConditionResult {
      .skipped(reason: "no need")
    }
  }

  /// What contradicts itself in an operation that has ended.
  private static func problem(of operation: AdvancedOperation) -> String? {
    let errors = operation.errors.count
    switch operation.outcome {
    case nil: return "\(operation) has no outcome"
    case .succeeded, .skipped:
      if errors > 0 { return "\(operation) with errors" }
      if operation.isCancelled { return "\(operation) is cancelled" }
    case .failed(let failure):
      if failure.elements.isEmpty || failure.elements.count != errors {
        return "\(operation) with \(failure.elements.count) elements, \(errors) errors"
      }
      if operation.isCancelled { return "\(operation) is cancelled" }
    case .cancelled(let failure):
      if failure.elements.count != errors {
        return "\(operation) with \(failure.elements.count) elements, \(errors) errors"
      }
      if !operation.isCancelled { return "\(operation) isn't cancelled" }
    }
    if let result = (operation as? ResultOperation<Int>)?.result {
      let isSuccess = operation.outcome?.isSuccess == true
      if isSuccess != ((try? result.get()) != nil) { return "\(operation) with \(result)" }
    }
    return nil
  }
}
