import Foundation
import WorkflowDocument
import WorkflowRunner

/// Creates engines by their names.
enum Engines {
  static func engine(_ name: EngineName) throws -> any StepEngine {
    throw Complaint(.failure, "there is no engine “\(name.rawValue)” yet")
  }

  static func newFolder(for source: WorkflowSource, in catalog: RunCatalog) throws -> RunFolder {
    throw Complaint(.failure, "not yet")
  }
}

extension RunFolder {
  func logFile(of step: String) -> String { "\(path)/logs/\(step).log" }
}
