import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// A signal that asked the program to end.
struct Interruption: Sendable, Equatable {
  var signal: Int32
  /// Whether all steps had ended.
  var isRunOver = false

  /// What shells say of programs that a signal ended.
  var exitCode: Int32 { 128 + signal }

  /// Why the run ends.
  var reason: String {
    switch signal {
    case SIGINT: "Ctrl-C"
    case SIGTERM: "SIGTERM"
    case SIGQUIT: "SIGQUIT"
    case SIGHUP: "the terminal was closed (SIGHUP)"
    default: "signal \(signal)"
    }
  }

  /// Whether steps are asked to end before they are killed: SIGQUIT is for programs that hang.
  var isGraceful: Bool { signal != SIGQUIT }

  /// Whether it kills when it isn't the first one.
  ///
  /// A terminal is closed once: the shell sends SIGHUP, and the system again when the shell ends,
  /// which may be any time later. Who has closed it wants nothing to be cut short.
  var isDemand: Bool { signal != SIGHUP || isRunOver }

  /// What people read when it came.
  var notice: String {
    if isRunOver {
      return "\(reason): all steps have ended; what they printed and isn't shown is in their logs"
    }
    if !isGraceful { return "ending because of \(reason): steps are killed" }
    let again = signal == SIGINT ? "Ctrl-C again" : "a second signal"
    return "ending because of \(reason): steps are asked to end, \(again) kills them"
  }
}
