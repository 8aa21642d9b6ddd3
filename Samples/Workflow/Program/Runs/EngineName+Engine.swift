import WorkflowRunner

extension EngineName {
  /// The engine of that name.
  func engine() -> any StepEngine {
    switch self {
    case .local: LocalEngine()
    case .slurm: SlurmEngine()
    }
  }
}
