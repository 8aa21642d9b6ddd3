import AdvancedOperations
import AdvancedOperationsVisualization
import WorkflowRunner

/// What the program does with a run; tests have one that follows a script.
protocol RunControl: Sendable {
  func run() async throws -> RunEnd
  /// Whether all steps have ended, and what undoes them.
  var isOver: Bool { get }
  func cancel(because reason: String)
  func kill()
  /// Stops what runs; returns whether it did.
  func suspend() -> Bool
  func resume()
  func explain(_ step: String) -> String?
  func graph() -> OperationGraph
  func timeline() -> OperationTimeline
}

extension WorkflowRun: RunControl {}
