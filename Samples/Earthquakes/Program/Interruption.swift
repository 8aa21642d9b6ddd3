#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// The reason of a cancel that came as a signal.
struct Interruption: Error, Equatable, CustomStringConvertible {
  var signal: Int32

  /// What shells say of programs that a signal ended.
  var exitCode: Int32 { 128 + signal }

  /// What to do if that takes too long, for people.
  var notice: String {
    signal == SIGINT
      ? "Cancelling. Press Ctrl-C again to quit immediately."
      : "Cancelling. Another signal quits immediately."
  }

  var description: String {
    signal == SIGINT ? "Interrupted (SIGINT)." : "Asked to end (signal \(signal))."
  }
}
