import WorkflowDocument
import WorkflowRunner

/// What a step asks Slurm for, and what its job is called there.
struct SlurmRequest: Sendable, Hashable {
  /// Processors of one node.
  var cpus: Int
  /// Memory of one node in MiB; nil: what the cluster gives by default.
  var memory: Int?
  /// When Slurm ends the job, in minutes; nil: the limit of the partition.
  var minutes: Int?
  /// Options of the command line for every job: a partition, an account.
  var options: [String]

  /// What an attempt asks for: `uses: {cpu: 2, memory: 1GiB}` and its time limit.
  ///
  /// The runner ends an attempt at its time limit. Slurm's limit is for the case that the runner is
  /// dead by then: the grace period and a minute later, in whole minutes, as Slurm counts them.
  init(_ attempt: StepAttempt, options: [String] = []) {
    let mebibyte = 1 << 20
    cpus = max(1, attempt.step.uses["cpu"]?.value ?? 1)
    memory = attempt.step.uses["memory"].map {
      $0.value / mebibyte + ($0.value % mebibyte).signum()
    }
    .map { max(1, $0) }
    minutes = attempt.step.timeout.map {
      let seconds = ($0 + attempt.gracePeriod).components.seconds
      return seconds >= 60 * 1_000_000_000 ? 1_000_000_000 : Int(seconds) / 60 + 2
    }
    self.options = options
  }

  /// The options of `srun`.
  ///
  /// - Parameters:
  ///   - name: What the job is called in Slurm's lists.
  ///   - token: What it is found by.
  /// - Returns: The arguments.
  func arguments(name: String, token: String) -> [String] {
    var arguments = [
      "--job-name=\(Self.printable(name))", "--comment=\(token)", "--nodes=1", "--ntasks=1",
      "--cpus-per-task=\(cpus)", "--export=NIL", "--chdir=/",
    ]
    if let memory { arguments.append("--mem=\(memory)M") }
    if let minutes { arguments.append("--time=\(minutes)") }
    return arguments + options
  }

  /// What was asked for, for a message: `64 processors and 1024 MiB`.
  var description: String {
    let processors = cpus == 1 ? "1 processor" : "\(cpus) processors"
    return memory.map { "\(processors) and \($0) MiB of memory" } ?? processors
  }

  /// The name of an attempt's job: `RUN:STEP:ATTEMPT`.
  static func name(_ attempt: StepAttempt) -> String {
    "\(attempt.run):\(attempt.step.id):\(attempt.number)"
  }

  /// Slurm's tools print names as they are, and cut them at the end of a line.
  private static func printable(_ name: String) -> String {
    String(
      String.UnicodeScalarView(
        name.unicodeScalars.map { $0.value < 32 || $0.value == 127 ? "?" : $0 }
      )
    )
  }
}
