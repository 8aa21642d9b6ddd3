import AdvancedTestSupport
import TestSupport
import Testing

@testable import AdvancedOperations

/// Conditions in conditions, on threads with stacks of 512 KiB.
@Suite(.heavy) struct `Conditions in conditions` {
  private struct SmallStacks: OperationExecutor {
    static let size = 512 << 10

    func enqueue(_ worker: @escaping @Sendable () -> Void) {
      Threads.launch(stackSize: Self.size, worker)
    }
  }

  enum Nesting: CaseIterable, Sendable {
    case negated, silent, all, any, anyOfAll, allOfNegated

    func wrap(_ condition: any OperationCondition, _ level: Int) -> any OperationCondition {
      let isEven = level.isMultiple(of: 2)
      switch self {
      case .negated: return !condition
      case .silent: return SilentCondition(condition)
      case .all: return AllOf([condition])
      case .any: return AnyOf([condition])
      case .anyOfAll: return isEven ? AnyOf([condition]) : AllOf([condition])
      case .allOfNegated: return isEven ? AllOf([condition]) : NegatedCondition(condition)
      }
    }

    /// Holds if the innermost does, because the depth can be divided by four.
    func deepest(_ leaf: any OperationCondition) -> any OperationCondition {
      (0..<ConditionParts.maximumDepth / 4 * 4).reduce(leaf) { wrap($0, $1) }
    }
  }

  private static func ending(_ condition: any OperationCondition) -> AdvancedOperation {
    let operation = AdvancedOperation()
    operation.addCondition(condition)
    let queue = AdvancedOperationQueue(environment: OperationEnvironment(executor: SmallStacks()))
    queue.addOperation(operation)
    queue.waitUntilAllOperationsAreFinished()
    return operation
  }

  @Test(arguments: Nesting.allCases, [true, false])
  func `conditions of the maximum depth are evaluated, named and released`(
    nesting: Nesting,
    holds: Bool
  ) async {
    await Threads.run(stackSize: SmallStacks.size) {
      let leaf = Immediate("leaf", always: holds ? .satisfied : .failed(Flaw(1)))
      let condition = nesting.deepest(leaf)
      #expect(condition.name.utf8.count < 2_000)
      #expect(condition.dependency(for: AdvancedOperation()) == nil)
      let operation = Self.ending(condition)
      #expect(operation.outcome?.isSuccess == holds)
      guard let failure = operation.outcome?.failure else { return }
      #expect(!failure.description.isEmpty)
      #expect(failure.summary().utf8.count < 100_000)
    }
  }

  @Test(arguments: Nesting.allCases)
  func `an operation waits for asynchronous conditions of the maximum depth`(nesting: Nesting) async
  {
    let leaf = BlockCondition("leaf") {
      await Task.yield()
      return true
    }
    await Threads.run(stackSize: SmallStacks.size) {
      #expect(Self.ending(nesting.deepest(leaf)).outcome?.isSuccess == true)
    }
  }

  @Test func `conditions that are nested more deeply than the maximum trap`() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      var condition: any OperationCondition = BlockCondition { true }
      for _ in 0...ConditionParts.maximumDepth { condition = !condition }
    }
    try expectMessage(
      """
      Conditions are nested on more than 500 levels. Join conditions of one kind on one level: \
      AllOf and AnyOf take lists, and a chain of && or of || is one level.
      """,
      in: result
    )
  }
}
