#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Android)
import Android
#endif

/// Signals that another process, or a person, sends to this process.
///
/// The handler writes a byte to a pipe, and nothing else: it may interrupt a thread that holds the lock of
/// the allocator or of a queue. A dedicated thread reads the pipe. The signal isn't blocked anywhere, because
/// child processes would inherit that.
package enum ProcessSignals {
  package enum Problem: Error {
    /// No handler can be called for the signal, the process can't continue after the handler, or the signal
    /// has another use.
    case unsuitable
    /// The system refuses a pipe or a thread.
    case refused
  }

  /// The pipe, and the process that created it: a child that was forked has the pipe of its parent.
  private struct Channel {
    let readEnd: Int32
    let writeEnd: Int32
    let process: pid_t
  }

  /// Read by the handler, so it is initialized before, has no lock and doesn't change.
  private static let channel: Channel? = {
    var ends: [Int32] = [-1, -1]
    guard unsafe pipe(&ends) == 0 else { return nil }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    // A full pipe has enough bytes to wake the thread.
    _ = fcntl(ends[1], F_SETFL, O_NONBLOCK)
    return Channel(readEnd: ends[0], writeEnd: ends[1], process: getpid())
  }()

  private static let isListening = channel.map { channel in
    DetachedThread.launch { listen(to: channel.readEnd) } == 0
  }

  private static let bodies = Locked<[Int32: StoredClosure<@Sendable () -> Void>]>([:])

  /// Calls a body on the dedicated thread after a signal has arrived, once for several that arrive together.
  ///
  /// Replaces the earlier body, and the handler that the process had for the signal.
  package static func handle(
    _ number: Int32,
    _ body: @escaping @Sendable () -> Void
  ) throws(Problem) {
    // A fault would occur again when the handler returns. The other signals end a process, or tell it about
    // its child processes.
    let unsuitable = [
      SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT, SIGSYS, SIGINT, SIGTERM, SIGPIPE, SIGCHLD,
    ]
    if unsuitable.contains(number) { throw .unsuitable }
    guard isListening == true else { throw .refused }
    let old = bodies.withLock { $0.updateValue(StoredClosure(body), forKey: number) }
    // signal(_:_:) installs the handler with SA_RESTART in all four C libraries.
    let previous = signal(number) { number in
      guard let channel = ProcessSignals.channel, channel.process == getpid() else { return }
      let error = errno
      var byte = UInt8(truncatingIfNeeded: number)
      _ = unsafe write(channel.writeEnd, &byte, 1)
      errno = error
    }
    withExtendedLifetime(old) {}
    if unsafe unsafeBitCast(previous, to: Int.self) == -1 { throw .unsuitable }
  }

  private static func listen(to readEnd: Int32) {
    // A report to a pipe that nobody reads must not end the process.
    var signals = sigset_t()
    unsafe sigemptyset(&signals)
    unsafe sigaddset(&signals, SIGPIPE)
    unsafe pthread_sigmask(SIG_BLOCK, &signals, nil)
    var bytes = [UInt8](repeating: 0, count: 64)
    while true {
      let count = unsafe read(readEnd, &bytes, bytes.count)
      guard count > 0 else {
        if count < 0, errno == EINTR { continue }
        return
      }
      for number in Set(bytes[..<count]).sorted() {
        bodies.withLock { $0[Int32(number)] }?.call()
      }
    }
  }
}
