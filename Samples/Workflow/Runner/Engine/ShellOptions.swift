import Subprocess
import Synchronization

#if canImport(System)
import System
#else
import SystemPackage
#endif

/// The shells of this machine, and which of them know `pipefail`.
///
/// It is an option of POSIX since 2024 only, so `sh` and `dash` are asked, once each in a process.
public enum ShellOptions {
  private static let known = Mutex<[String: Bool]>([:])

  /// Whether a shell can be started.
  ///
  /// - Parameter path: The path of the shell, or its name in PATH.
  /// - Returns: False as well if the task is cancelled.
  public static func isThere(_ path: String) async -> Bool {
    await hasStarted(path, ["-c", ":"])
  }

  /// Whether a shell has the option `pipefail`.
  ///
  /// - Parameter path: The path of the shell, or its name in PATH.
  /// - Returns: False as well if the shell can't be started, or the task is cancelled.
  public static func hasPipefail(_ path: String) async -> Bool {
    if let answer = known.withLock({ $0[path] }) { return answer }
    let answer = await hasStarted(path, ["-o", "pipefail", "-c", ":"])
    if !Task.isCancelled { known.withLock { $0[path] = answer } }
    return answer
  }

  private static func hasStarted(_ path: String, _ arguments: [String]) async -> Bool {
    let result = try? await Subprocess.run(
      path.contains("/") ? .path(FilePath(path)) : .name(path),
      arguments: Arguments(arguments),
      input: .none,
      output: .discarded,
      error: .discarded
    )
    return result?.terminationStatus == .exited(0)
  }
}
