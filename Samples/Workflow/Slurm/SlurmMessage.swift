/// What Slurm's commands say when they fail, read for what to do about it.
struct SlurmMessage: Sendable, Equatable {
  /// What follows from it.
  enum Meaning: Sendable, Equatable {
    /// The controller doesn't answer: it may later.
    case unavailable
    /// The node of the job, if it is named, couldn't be reached when the job had it.
    case nodeLost(String?)
    /// The script isn't there on that node.
    case notShared(String?)
    /// The job was cancelled before it began.
    case cancelled
    /// What was asked for can't be had.
    case refused
    /// Something else.
    case other
  }

  /// The last sentence that says something: without the command's name, and without what it says on
  /// the way to it.
  var sentence: String
  /// What follows from it.
  var meaning: Meaning

  /// Begins the line by which a script says that it isn't where it should be.
  static let notSharedMark = "workflow: no script on "

  /// Reads what a command wrote to its standard error.
  init(_ text: String) {
    let lines = text.split(whereSeparator: \.isNewline).map(Self.withoutPrefix)
    sentence = lines.last { line in !line.isEmpty && !Self.isOnTheWay(line) } ?? lines.last ?? ""
    if let line = lines.last(where: { $0.hasPrefix(Self.notSharedMark) }) {
      meaning = .notShared(Self.name(String(line.dropFirst(Self.notSharedMark.count))))
    } else if let node = Self.lostNode(lines) {
      meaning = .nodeLost(node.isEmpty ? nil : node)
    } else if lines.contains(where: { line in Self.absence.contains { line.contains($0) } }) {
      meaning = .unavailable
    } else if lines.contains(where: { line in Self.cancellation.contains { line.contains($0) } }) {
      meaning = .cancelled
    } else if lines.contains(where: { line in Self.refusal.contains { line.contains($0) } }) {
      meaning = .refused
    } else {
      meaning = .other
    }
  }

  private static let absence = [
    "Unable to contact slurm controller", "Unable to connect to slurm daemon",
    "Socket timed out on send/recv", "Slurm backup controller in standby mode",
    "Transport endpoint is not connected", "Communication connection failure",
    "Slurm temporarily unable to accept job, sleeping and retrying",
  ]

  private static let cancellation = [
    "has been cancelled", "has been revoked", "Job cancelled", "allocation revoked", "CANCELLED",
  ]

  private static let refusal = [
    "Unable to allocate resources:", "Batch job submission failed:", "Invalid ", "invalid ",
    "unrecognized option", "Unable to process",
  ]

  private static func lostNode(_ lines: [String]) -> String? {
    for line in lines {
      if let range = line.firstRange(of: "Node failure on ") {
        return name(String(line[range.upperBound...]))
      }
      if line.contains("Task launch for"), let range = line.firstRange(of: "failed on node ") {
        return name(String(line[range.upperBound...]))
      }
    }
    return nil
  }

  /// The name of a node at the beginning of a text.
  private static func name(_ text: String) -> String {
    String(text.prefix { !$0.isWhitespace && $0 != ":" && $0 != "," })
  }

  /// `srun: error: What was the matter` becomes `What was the matter`.
  private static func withoutPrefix(_ line: Substring) -> String {
    var line = line
    for prefix in [
      "srun:", "sbatch:", "squeue:", "scancel:", "scontrol:", "slurm_load_jobs", "error:", "fatal:",
    ] {
      line = line.drop { $0.isWhitespace }
      if line.hasPrefix(prefix) { line = line.dropFirst(prefix.count) }
    }
    return String(line.drop { $0.isWhitespace })
  }

  private static func isOnTheWay(_ line: String) -> Bool {
    line.hasPrefix("job ")
      && (line.contains("queued and waiting") || line.contains("has been allocated"))
      || line.hasPrefix("Force Terminated") || line.hasPrefix("Job step aborted")
  }
}
