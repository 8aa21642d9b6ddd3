import TerminalSupport
import WorkflowDocument
import WorkflowRunner

/// The shell script that runs an attempt on its node.
///
/// The truth about an attempt is in its folder, and only there: a runner that comes later, when the one
/// that submitted it is dead and Slurm has forgotten the job, reads the same as the first one.
/// It begins once, however often it was submitted: the one that makes the folder `begun` runs. It is
/// written as a file, since a command line is everybody's to read, and an environment isn't.
enum SlurmScript {
  /// The exit code of a script that finds its attempt begun.
  static let hasBegunBefore = 75

  /// The script of an attempt.
  ///
  /// - Parameters:
  ///   - attempt: What to run.
  ///   - folder: The attempt's folder, which the runner and the node share.
  /// - Returns: Its text.
  static func text(_ attempt: StepAttempt, folder: String) -> String {
    var lines = [
      "#!/bin/sh",
      "# One attempt of a step. `workflow` wrote it, Slurm runs it.",
      "folder=\(ShellQuoting.word(folder))",
      #"mkdir "$folder/begun" 2>/dev/null || exit \#(hasBegunBefore)"#,
    ]
    lines += [
      // What this shell says itself, that a signal ended the command, isn't the command's output.
      "exec 2>/dev/null </dev/null",
      #"write() { printf '%s\n' "$2" >"$folder/$1.new" && mv "$folder/$1.new" "$folder/$1"; }"#,
      #"finish() { write status "$1"; exit "$1"; }"#,
      #"write started "${SLURMD_NODENAME:-$(hostname)}"#,
      #"$SLURM_JOB_ID""#,
      "cd \(ShellQuoting.word(attempt.workingDirectory)) || {",
      #"  echo "workflow: no such folder on ${SLURMD_NODENAME:-$(hostname)}: "\#(ShellQuoting.word(attempt.workingDirectory))"#,
      "  finish 126",
      "}",
      // A signal for the job reaches every process of it: the command ends as it likes, and the script
      // stays to say how.
      "trap : HUP INT QUIT TERM USR1 USR2",
      "(",
    ]
    lines += environment(attempt.environment)
    lines.append(command(attempt))
    lines += [") 2>&1", #"finish "$?""#]
    return lines.joined(separator: "\n") + "\n"
  }

  /// What `srun` runs: the script, or a complaint that it isn't there.
  static func launcher(script: String) -> [String] {
    [
      "/bin/sh", "-c",
      #"[ -r "$1" ] || { echo "\#(SlurmMessage.notSharedMark)${SLURMD_NODENAME:-$(hostname)}: $1" >&2; exit 66; }; "#
        + #"exec /bin/sh "$1""#,
      "workflow", script,
    ]
  }

  /// The line that becomes the command of the attempt.
  private static func command(_ attempt: StepAttempt) -> String {
    // `env` finds a program by the path that was just set, and takes none for a function of the shell.
    let start = "exec " + (["/usr/bin/env"] + odd(attempt)).quoted
    switch attempt.command {
    case .arguments(let arguments): return "\(start) \(arguments.quoted)"
    case .shell(let script):
      let shell = attempt.step.shell ?? .standard
      guard case .posix(let program) = shell else {
        return "\(start) \((shell.words(hasPipefail: false) + [script]).quoted)"
      }
      // The node's shell may be another one than the runner's.
      let word = ShellQuoting.word(program)
      return """
        set --
        /usr/bin/env \(word) -o pipefail -c : >/dev/null 2>&1 && set -- -o pipefail
        \(start) \(word) -eu "$@" -c \(ShellQuoting.word(script))
        """
    }
  }

  /// Variables that a shell can't assign to; `env` carries them.
  private static func odd(_ attempt: StepAttempt) -> [String] {
    attempt.environment.filter { isCarried($0.key) && !isAssignable($0.key) }
      .sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
  }

  private static func environment(_ variables: [String: String]) -> [String] {
    variables.filter { isCarried($0.key) && isAssignable($0.key) }
      .sorted { $0.key < $1.key }
      .map { "export \($0.key)=\(ShellQuoting.word($0.value))" }
  }

  /// Whether every shell lets a script assign any text to it.
  private static func isAssignable(_ name: String) -> Bool {
    ShellQuoting.isName(name) && !ownVariables.contains(name) && !name.hasPrefix("BASH")
  }

  private static let ownVariables: Set<String> = [
    "_", "EUID", "FUNCNAME", "GROUPS", "IFS", "LINENO", "OPTIND", "PPID", "RANDOM", "SECONDS",
    "SHELLOPTS",
    "UID",
  ]

  /// What a job that the runner itself runs in was given isn't true of this one.
  private static func isCarried(_ name: String) -> Bool {
    !name.isEmpty && !name.contains("=") && !name.contains("\0")
      && (!name.hasPrefix("SLURM") || name == "SLURM_CONF") && name != "SRUN_DEBUG"
  }
}

extension [String] {
  /// The words as a shell reads them back.
  fileprivate var quoted: String { map(ShellQuoting.word).joined(separator: " ") }
}
