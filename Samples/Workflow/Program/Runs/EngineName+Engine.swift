import WorkflowRunner

extension EngineName {
  /// The engine of that name.
  func engine() throws(Complaint) -> any StepEngine {
    switch self {
    case .local: return LocalEngine()
    case .slurm: throw Complaint(.failure, "there is no engine for Slurm in this build")
    }
  }
}
