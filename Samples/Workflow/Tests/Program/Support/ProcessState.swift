@testable import WorkflowRunner

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// What the system says of a process.
enum ProcessState {
  /// Whether it hasn't ended; one at whose end nobody has looked has.
  static func isAlive(_ process: Int32) -> Bool {
    kill(process, 0) == 0 && ProcessStatus(of: process)?.hasEnded != true
  }

  /// Whether a signal has stopped it, also where a debugger follows it.
  static func isStopped(_ process: Int32) -> Bool {
    ["T", "t"].contains(ProcessStatus(of: process)?.state)
  }
}
