import Dispatch
import Testing

/// Ends the process when a test hangs, and says which one.
///
/// It synchronises nothing.
struct Watched: SuiteTrait, TestTrait, TestScoping {
  /// Whether each test gets a stage of its own; for tests that run one at a time.
  fileprivate var givesStage = false

  var isRecursive: Bool { true }

  func provideScope(
    for test: Test,
    testCase: Test.Case?,
    performing function: @Sendable @concurrent () async throws -> Void
  ) async throws {
    if givesStage { Stage.current = Stage() }
    let (name, givesStage) = ("\(test.id)", givesStage)
    let alarm = DispatchWorkItem {
      let lines = givesStage ? "\nIt has printed: \(Stage.current.lines)" : ""
      fatalError("This test hangs: \(name)\(lines)")
    }
    DispatchQueue.global().asyncAfter(deadline: .now() + 600, execute: alarm)
    defer { alarm.cancel() }
    try await function()
  }
}

extension Trait where Self == Watched {
  static var watched: Self { Watched() }
  static var staged: Self { Watched(givesStage: true) }
}
