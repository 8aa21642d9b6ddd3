/// Why a command did not run on this machine.
public enum LocalEngineError: Error, Equatable, CustomStringConvertible {
  /// There is no such program, or it may not be executed.
  case programNotFound(name: String, searched: String?)
  /// The first line of a script names an interpreter that isn't there.
  case interpreterNotFound(script: String, interpreter: String)
  /// The folder that it was to run in isn't there.
  case noWorkingDirectory(path: String, reason: String)
  /// The file for its output can't be written.
  case noLog(path: String, reason: String)
  /// The command and its variables are longer than the system allows.
  case tooLong
  /// Something else, in words without a full stop.
  case notStarted(String)

  /// One sentence.
  public var description: String {
    switch self {
    case .programNotFound(let name, nil): "There is no program \(name) that can be executed."
    case .programNotFound(let name, .some(let path)):
      "There is no program “\(name)” in the folders of PATH (\(path))."
    case .interpreterNotFound(let script, let interpreter) where interpreter.hasSuffix("\r"):
      "The first line of \(script) ends with a carriage return, so that its interpreter isn't found: "
        + "convert its line ends, as with “sed -i 's/\\r$//' \(script)”."
    case .interpreterNotFound(let script, let interpreter):
      "The first line of \(script) names the interpreter \(interpreter), which doesn't exist."
    case .noWorkingDirectory(let path, let reason):
      "The command can't run in the folder \(path): \(reason)."
    case .noLog(let path, let reason): "The log \(path) can't be written: \(reason)."
    case .tooLong:
      "The command and its variables are longer than the system allows: pass large values, such as "
        + "outputs of other steps, in files."
    case .notStarted(let reason): "The command was not started: \(reason)."
    }
  }
}
