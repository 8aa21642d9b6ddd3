import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import TestSupport
import Testing

/// Conditions in conditions, as deep as a program likes, on stacks of 512 KiB.
@Suite(.heavy, .serialized) struct `AdvancedStress: conditions in conditions` {
  private struct Flaw: Error, CustomStringConvertible {
    let description = "the flaw"
  }

  private struct Fixed: ImmediateCondition {
    let name: String
    let holds: Bool

    func check(_ operation: AdvancedOperation) -> OperationConditionResult {
      holds ? .satisfied : .failed(Flaw())
    }
  }

  private static let depth = CoreStress.scaled(Effort.isNightly ? 1_000_000 : 100_000)

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

    /// Holds if the innermost does, when the depth can be divided by four.
    func nested(_ leaf: any OperationCondition, depth: Int) -> any OperationCondition {
      (0..<depth).reduce(leaf) { wrap($0, $1) }
    }
  }

  private static func ending(_ condition: any OperationCondition) -> AdvancedOperation {
    let operation = AdvancedOperation()
    operation.name = "work"
    operation.addCondition(condition)
    let queue = AdvancedOperationQueue(
      environment: OperationEnvironment(executor: CoreStress.SmallStacks.shared)
    )
    queue.addOperation(operation)
    queue.waitUntilAllOperationsAreFinished()
    return operation
  }

  @Test(arguments: Nesting.allCases, [true, false])
  func `are asked, named and released`(nesting: Nesting, holds: Bool) async {
    let depth = Self.depth / 4 * 4
    await CoreStress.onThread(stackSize: CoreStress.smallStack) {
      let condition = nesting.nested(Fixed(name: "leaf", holds: holds), depth: depth)
      #expect(condition.name.utf8.count < 2_000)
      let operation = Self.ending(condition)
      #expect(operation.outcome?.isSuccess == holds)
      guard let failure = operation.outcome?.failure else { return }
      #expect(!failure.description.isEmpty)
      #expect(failure.summary().utf8.count < 100_000)
    }
  }

  @Test(arguments: Nesting.allCases)
  func `are waited for`(nesting: Nesting) async {
    let depth = Self.depth / 4 * 4
    let leaf = BlockCondition("leaf") {
      await Task.yield()
      return true
    }
    await CoreStress.onThread(stackSize: CoreStress.smallStack) {
      #expect(Self.ending(nesting.nested(leaf, depth: depth)).outcome?.isSuccess == true)
    }
  }
}
