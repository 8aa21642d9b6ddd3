import Dispatch

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// Calls closures before Ctrl-Z stops the program, and when it goes on, after `fg` or `bg`.
///
/// The program is stopped as by the signal itself, so the shell sees what it does of others. Where
/// there is no shell that could let it go on, the system doesn't stop it, and both are called.
package final class SuspensionWatch: @unchecked Sendable {
  // Sendable: a source may be used from any thread, and is only cancelled.
  private let source: (any DispatchSourceSignal)?

  /// Begins to watch; returns when no signal is lost any more.
  ///
  /// Does nothing where the program was started so that it ignores the signal.
  ///
  /// - Parameters:
  ///   - onStop: Called before the program is stopped, by a thread that does nothing else.
  ///   - onContinue: Called by the same thread when it goes on.
  package init(
    onStop: @escaping @Sendable () -> Void,
    onContinue: @escaping @Sendable () -> Void
  ) {
    if SignalWatch.isIgnored(SIGTSTP) {
      source = nil
      return
    }
    let registration = DispatchGroup()
    let queue = DispatchQueue(label: "suspension")
    source = SignalWatch.source(of: SIGTSTP, on: queue, registration) {
      onStop()
      Self.stop()
      onContinue()
    }
    registration.wait()
  }

  deinit { source?.cancel() }

  /// Stops the program; returns when it goes on.
  private static func stop() {
    var (watching, unblocked, blocked) = (sigaction(), sigset_t(), sigset_t())
    _ = sigaction(SIGTSTP, nil, &watching)
    _ = signal(SIGTSTP, SIG_DFL)
    sigemptyset(&unblocked)
    sigaddset(&unblocked, SIGTSTP)
    // The threads of a queue get no signals. One that this thread sends to itself stops all of them
    // before the call returns; one to the process might do so at any time after it.
    _ = pthread_sigmask(SIG_UNBLOCK, &unblocked, &blocked)
    _ = raise(SIGTSTP)
    _ = pthread_sigmask(SIG_SETMASK, &blocked, nil)
    _ = sigaction(SIGTSTP, &watching, nil)
  }
}
