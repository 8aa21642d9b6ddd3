/// A job as Slurm's lists have it.
struct SlurmJob: Sendable, Equatable {
  /// What Slurm says about a job's life; more than a step needs is left as it is.
  enum Phase: Sendable, Equatable {
    /// It waits for its turn.
    case pending
    /// It runs, or what is left of it is being ended.
    case active
    /// It has ended by itself: well, or with an exit code or a signal.
    case ended
    /// Its machine is gone, or was taken from it.
    case lost
    /// It was ended: by somebody, its time limit, a lack of memory.
    case stopped
  }

  /// The number of the job.
  var id: String
  /// `RUNNING`, `NODE_FAIL` and so on, as Slurm prints it.
  var state: String
  /// Why it waits, or ended so: `Resources`.
  var reason: String
  /// The node; empty before it has one.
  var node: String
  /// The comment that it was submitted with.
  var token: String

  /// What the state means.
  var phase: Phase {
    switch state {
    case "PENDING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "RESV_DEL_HOLD", "SPECIAL_EXIT":
      .pending
    case "COMPLETED", "FAILED", "REVOKED": .ended
    case "NODE_FAIL", "BOOT_FAIL", "PREEMPTED": .lost
    case "CANCELLED", "TIMEOUT", "DEADLINE", "OUT_OF_MEMORY": .stopped
    default: .active
    }
  }

  /// The format that ``list(_:)`` reads.
  static let format = "%i|%T|%r|%N|%k"

  /// Reads what `squeue --noheader --format` printed; lines that aren't jobs are left out.
  static func list(_ text: String) -> [SlurmJob] {
    text.split(whereSeparator: \.isNewline).compactMap { line in
      let fields = line.split(separator: "|", omittingEmptySubsequences: false).map(String.init)
      guard fields.count >= 5, fields[0].first?.isNumber == true else { return nil }
      return SlurmJob(
        id: fields[0],
        state: fields[1],
        reason: fields[2],
        node: fields[3],
        token: fields[4...].joined(separator: "|")
      )
    }
  }

  /// The exit code and the signal in what `scontrol show job --oneliner` printed: `ExitCode=1:0`.
  static func exitCode(_ text: String) -> (code: Int, signal: Int)? {
    for word in text.split(whereSeparator: \.isWhitespace) where word.hasPrefix("ExitCode=") {
      let numbers = word.dropFirst("ExitCode=".count).split(separator: ":").map { Int($0) }
      if numbers.count == 2, let code = numbers[0], let signal = numbers[1] {
        return (code, signal)
      }
    }
    return nil
  }

  /// Whether it waits for what can't come: it would wait for ever.
  var cannotBegin: Bool {
    phase == .pending && Self.hopeless.contains(reason)
  }

  private static let hopeless: Set<String> = [
    "BadConstraints", "PartitionConfig", "PartitionNodeLimit", "PartitionTimeLimit",
    "InvalidAccount", "InvalidQOS",
    "AccountNotAllowed", "QOSNotAllowed", "DependencyNeverSatisfied", "JobLaunchFailure",
    "JobHoldMaxRequeue", "AssocMaxCpuPerJobLimit", "AssocMaxMemPerJob",
    "AssocMaxWallDurationPerJobLimit",
    "QOSMaxCpuPerJobLimit", "QOSMaxMemoryPerJob", "QOSMaxWallDurationPerJobLimit",
  ]

  /// What it waits for, in words; Slurm's own word stays in it.
  var waitsFor: String {
    guard let sentence = Self.sentences[reason] else { return "Slurm (\(reason))" }
    return "\(sentence) (Slurm: \(reason))"
  }

  private static let sentences = [
    "None": "Slurm's scheduler",
    "Resources": "free processors or memory",
    "Priority": "its turn among the jobs of the cluster",
    "PartitionDown": "its partition, which is down",
    "PartitionInactive": "its partition, which is inactive",
    "JobHeldUser": "scontrol release: its job is held",
    "JobHeldAdmin": "an administrator, who holds its job",
    "BeginTime": "the time that its job may begin at",
    "Reservation": "its reservation",
    "Licenses": "licences",
    "NodeDown": "a node, all of which are down",
    "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions":
      "a node, all of which are down or taken",
  ]
}
