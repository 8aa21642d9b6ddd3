public import WorkflowRunner

/// The machine under an attempt is gone, or Slurm took it away from the attempt.
public struct SlurmNodeLost: AttemptLost, Equatable {
  /// The machine, as Slurm calls it; nil if Slurm doesn't say.
  public var node: String?
  /// The job that ran on it.
  public var job: String
  /// What Slurm says: `NODE_FAIL`, `BOOT_FAIL`, `PREEMPTED`.
  public var state: String

  /// Creates an error.
  public init(node: String?, job: String, state: String = "NODE_FAIL") {
    self.node = node
    self.job = job
    self.state = state
  }

  /// A sentence.
  public var description: String {
    let node = node ?? "its node"
    return state == "PREEMPTED"
      ? "Slurm took \(node) away from job \(job) (\(state))"
      : "\(node) was lost while job \(job) ran on it (\(state))"
  }
}

/// What kept a step from running in Slurm, or from being known how it ended.
public enum SlurmError: Error, Equatable, CustomStringConvertible {
  /// One of Slurm's commands isn't installed on this machine.
  case missing(command: String)
  /// The controller hasn't answered for as long as the engine is patient.
  case unavailable(message: String, after: Duration)
  /// The job can never run.
  case refused(message: String, request: String)
  /// Slurm or somebody ended the job: `TIMEOUT`, `CANCELLED`, `OUT_OF_MEMORY`.
  case stopped(job: String, state: String, node: String?)
  /// The run's folder isn't the same one on the node.
  case notShared(path: String, node: String?)
  /// `srun` or `sbatch` failed in another way.
  case failed(message: String)

  /// A sentence, with what helps.
  public var description: String {
    switch self {
    case .missing(let command):
      "'\(command)' isn't installed here: the engine slurm needs Slurm's commands"
    case .unavailable(let message, let duration):
      "Slurm's controller hasn't answered for \(duration): \(message)"
    case .refused(let message, let request):
      "Slurm can't ever run it (\(request)): \(message)"
    case .stopped(let job, "TIMEOUT", let node):
      "Slurm ended job \(job)\(Self.on(node)) at its time limit"
    case .stopped(let job, "OUT_OF_MEMORY", let node):
      "job \(job)\(Self.on(node)) needed more memory than it asked for: 'uses: {memory: …}'"
    case .stopped(let job, "CANCELLED", let node):
      "job \(job)\(Self.on(node)) was cancelled in Slurm"
    case .stopped(let job, let state, let node):
      "Slurm ended job \(job)\(Self.on(node)): \(state)"
    case .notShared(let path, let node):
      "\(path) isn't there on \(node ?? "the node"): a run's folder has to be on a file system that this "
        + "machine and the nodes share"
    case .failed(let message):
      "Slurm failed: \(message)"
    }
  }

  private static func on(_ node: String?) -> String { node.map { " on \($0)" } ?? "" }
}
