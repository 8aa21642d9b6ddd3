/// The shell that runs the scripts of a step: its `command` and its `on-rollback`, if they are texts.
public enum Shell: Sendable, Hashable, Codable {
  /// A shell with the options of POSIX, by its name or path: `bash`, `/bin/dash`.
  ///
  /// It ends a script at the first command that fails (`-e`) and at a variable that isn't set (`-u`).
  /// If it has `pipefail`, a pipeline fails if any of its commands does.
  case posix(String)
  /// A program with its arguments; the script follows as the last argument.
  case exactly([String])

  /// `/bin/sh`, for steps that name no other.
  public static let standard = Shell.posix("/bin/sh")

  /// The names of shells that have the options of POSIX.
  package static let posixNames = ["sh", "bash", "dash", "ash", "ksh", "mksh", "zsh"]

  /// Whether the shell reads `"$NAME"` as the value of a variable.
  package var expandsVariables: Bool {
    switch self {
    case .posix: true
    case .exactly(let words):
      words.first.map { Self.posixNames.contains(Self.name(of: $0)) } == true
    }
  }

  /// The program.
  public var program: String {
    switch self {
    case .posix(let program): program
    case .exactly(let words): words[0]
    }
  }

  /// The program and its arguments, without the script.
  ///
  /// - Parameter hasPipefail: Whether the shell has the option `pipefail`.
  /// - Returns: Words, behind which the script stands.
  public func words(hasPipefail: Bool) -> [String] {
    switch self {
    case .posix(let program):
      hasPipefail ? [program, "-eu", "-o", "pipefail", "-c"] : [program, "-eu", "-c"]
    case .exactly(let words): words
    }
  }

  /// The shell with that name or path; nil if it isn't known to have the options of POSIX.
  package static func posix(named text: String) -> Shell? {
    guard posixNames.contains(name(of: text)) else { return nil }
    return text == "sh" ? .standard : .posix(text)
  }

  /// The name of a program, without the folder.
  public static func name(of program: String) -> String {
    program.split(separator: "/").last.map(String.init) ?? program
  }
}
