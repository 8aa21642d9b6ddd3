import Foundation

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
    kill(process, 0) == 0 && letter(process) != "Z"
  }

  /// Whether a signal has stopped it, also where a debugger follows it.
  static func isStopped(_ process: Int32) -> Bool { ["T", "t"].contains(letter(process)) }

  /// As `/proc` has it; nil where there is none.
  private static func letter(_ process: Int32) -> Character? {
    let status = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
    // Behind its name, which may contain anything.
    return status?.split(separator: ")").last?.first { $0 != " " }
  }
}
