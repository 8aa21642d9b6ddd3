import AdvancedOperations
import CoreOperations

extension FeatureWorkload {
  /// Operations that don't outlive a closure, beside tasks that don't.
  static let scopes = FeatureWorkload("scopes", "operations that don't outlive a closure") { size in
    [
      Lane("TaskGroup", operations: size) { _ in
        Blocking.run {
          await withDiscardingTaskGroup { group in
            for _ in 0..<size { group.addTask { RunCount.add() } }
          }
        }
      },
      Lane("one scope", operations: size) { _ in run([size]) },
      Lane("scopes of 4", operations: size) { _ in run(fours(size)) },
    ]
  }

  /// Runs a scope after the other, each with so many operations.
  private static func run(_ scopes: [Int]) {
    Blocking.run {
      do {
        for count in scopes {
          try await withOperations { scope in
            for _ in 0..<count { scope.add(CountingOperation()) }
          }
        }
      } catch {
        // Nothing throws, and if something did, the count would be wrong.
        RunCount.add()
      }
    }
  }
}
