import Foundation
import WorkflowDocument
import WorkflowRunner

/// Creates engines by their names.
enum Engines {
  static func engine(_ name: EngineName) throws -> any StepEngine {
    switch name {
    case .local: LocalEngine()
    case .slurm: throw Complaint(.failure, "there is no engine “\(name.rawValue)” yet")
    }
  }

  static func newFolder(for source: WorkflowSource, in catalog: RunCatalog) throws -> RunFolder {
    try RunFolder.create(of: source.workflow.name, in: catalog.path, file: source.text)
  }
}
