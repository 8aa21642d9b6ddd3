import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// How the terminal reads and echoes what is typed, to be as before when a program has left it otherwise.
package final class TerminalSettings: Sendable {
  private let saved = Mutex<termios?>(nil)

  /// Remembers nothing yet.
  package init() {}

  /// Remembers the settings of the terminal that is the standard input; of anything else, nothing.
  package func save() {
    var settings = termios()
    let isTerminal = tcgetattr(STDIN_FILENO, &settings) == 0
    saved.withLock { [settings] in $0 = isTerminal ? settings : nil }
  }

  /// Gives the terminal the settings that were remembered.
  package func restore() {
    guard var settings = saved.withLock({ $0 }) else { return }
    _ = tcsetattr(STDIN_FILENO, TCSANOW, &settings)
  }
}
