import Dispatch
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// Calls a closure instead of letting signals end the program.
///
/// The second one is for ending it at once, so that a program that doesn't listen can be ended,
/// even one whose answer to the first is held up. Watches until it is stopped.
package final class SignalWatch: @unchecked Sendable {
  // Sendable: sources may be used from any thread, and are only cancelled.
  private let sources: [any DispatchSourceSignal]
  private let signals: [Int32]
  private let queue = DispatchQueue(label: "signals")
  /// The answer to the first signal, as long as it goes on.
  private let answer = DispatchGroup()
  private let first = First()

  /// When the first signal came, or no first one was expected any more.
  private final class First: Sendable {
    let time = Mutex<ContinuousClock.Instant?>(nil)

    /// - Returns: How long ago it was; nil if it is now.
    func comes() -> Duration? {
      time.withLock { time in
        if let time { return .now - time }
        time = .now
        return nil
      }
    }
  }

  /// Lets Ctrl-\\ end the program at once, as it does others, from its first line on.
  ///
  /// Swift's runtime takes SIGQUIT for a crash: it would write a report, and may hang in that.
  package static func endAtQuit() {
    if !isIgnored(SIGQUIT) { _ = signal(SIGQUIT, SIG_DFL) }
  }

  /// Whether who started the program has it ignore a signal, as `nohup` does.
  package static func isIgnored(_ number: Int32) -> Bool {
    var action = sigaction()
    _ = sigaction(number, nil, &action)
    #if canImport(Darwin)
    return unsafeBitCast(action.__sigaction_u.__sa_handler, to: Int.self) == 1
    #elseif canImport(Musl)
    return unsafeBitCast(action.__sa_handler.sa_handler, to: Int.self) == 1
    #else
    return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == 1
    #endif
  }

  /// Begins to watch; returns when no signal is lost any more.
  ///
  /// - Parameters:
  ///   - signals: The signals, such as `SIGINT`.
  ///   - echo: How long after the first one others count as the same: `timeout` sends each twice.
  ///   - urgent: Those that never count as the same: who sends one has waited long enough.
  ///   - onFirst: Gets the first one that comes.
  ///   - onSecond: Gets the second one and later ones, and ends the program; it isn't to wait.
  package init(
    _ signals: [Int32],
    echo: Duration = .zero,
    urgent: [Int32] = [],
    onFirst: @escaping @Sendable (Int32) -> Void,
    onSecond: @escaping @Sendable (Int32) -> Void
  ) {
    self.signals = signals
    let registration = DispatchGroup()
    sources = signals.map { [queue, answer, first] number in
      Self.source(of: number, on: queue, registration) {
        if let age = first.comes() {
          if age >= echo || urgent.contains(number) { onSecond(number) }
          return
        }
        // Elsewhere, as it may take its time, for example where nobody reads what it writes.
        DispatchQueue.global().async(group: answer) { onFirst(number) }
      }
    }
    // Registered by another thread, and until then the signals are ignored.
    registration.wait()
  }

  /// Calls a closure at each signal of a kind, in place of what the system would do.
  ///
  /// - Parameters:
  ///   - number: The signal.
  ///   - queue: Where the closure is called.
  ///   - registration: Left when no signal is lost any more.
  ///   - handler: The closure.
  /// - Returns: What ends it when it is cancelled.
  static func source(
    of number: Int32,
    on queue: DispatchQueue,
    _ registration: DispatchGroup,
    _ handler: @escaping @Sendable () -> Void
  ) -> any DispatchSourceSignal {
    // Ignored for the system, whose answer would be to end or stop the program; sources see it
    // still.
    _ = signal(number, SIG_IGN)
    let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
    source.setEventHandler(handler: handler)
    registration.enter()
    source.setRegistrationHandler { registration.leave() }
    source.resume()
    return source
  }

  /// Answers each signal as a second one from now on: what the first one asks for is over.
  ///
  /// Returns when no answer to a first one goes on any more. Until the program has ended, no signal
  /// ends it with a status that says nothing of what it has done. Don't call it from a closure.
  package func expectsNoFirst() {
    queue.sync { _ = first.comes() }
    answer.wait()
  }

  /// Lets the signals end the program again.
  ///
  /// Returns when no closure runs any more, and none will. Don't call it from one of them.
  package func stop() {
    // Until an answer is over, the second signal has to come through.
    answer.wait()
    for source in sources { source.cancel() }
    queue.sync {}
    for number in signals { _ = signal(number, SIG_DFL) }
    // Of a signal that came in between; another one ends the program now.
    answer.wait()
  }
}
