/// Why an attempt of a step failed that could be made.
public enum StepError: Error, Equatable, CustomStringConvertible {
  /// The command exited with another code than 0.
  case exited(Int)
  /// A signal ended the command.
  case signalled(Int)
  /// A condition that it requires doesn't hold.
  case required(String, reason: String)
  /// It failed in some way while there was no room on the disk that has its log.
  case onFullDisk(String, path: String)
  /// The file of its outputs isn't what it has to be.
  case outputs(OutputProblem)

  init?(_ status: StepExit.Status) {
    switch status {
    case .exited(0): return nil
    case .exited(let code): self = .exited(code)
    case .signalled(let signal): self = .signalled(signal)
    }
  }

  /// The end of a sentence that begins with the step.
  public var description: String {
    switch self {
    case .exited(126): "exited with 126: a command can't be executed"
    case .exited(127): "exited with 127: a command was not found"
    case .exited(141):
      "exited with 141: a command wrote to a pipe whose reader had ended (SIGPIPE)"
    case .exited(let code): "exited with \(code)"
    case .signalled(let signal): "was ended by \(Self.name(of: signal))"
    case .required(let condition, let reason): "‘\(condition)’: \(reason)"
    case .onFullDisk(let reason, let path): "\(reason); the disk is full that has \(path)"
    case .outputs(let problem): "\(problem)"
    }
  }

  private static func name(of signal: Int) -> String {
    let names = [
      1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 6: "SIGABRT", 8: "SIGFPE",
      9: "SIGKILL", 11: "SIGSEGV", 13: "SIGPIPE", 14: "SIGALRM", 15: "SIGTERM",
    ]
    return names[signal].map { "signal \(signal) (\($0))" } ?? "signal \(signal)"
  }
}
