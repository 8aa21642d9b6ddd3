#if os(Linux) || os(Android)
#if canImport(Musl)
import Musl
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Android)
import Android
#endif

/// What the kernel knows about one thread: how long it has computed, and whether it sleeps.
struct ThreadActivity: Sendable {
  private let clock: clockid_t?
  private let path: String

  /// That of the calling thread.
  init() {
    var clock = clockid_t()
    self.clock = unsafe pthread_getcpuclockid(pthread_self(), &clock) == 0 ? clock : nil
    path = "/proc/\(FileSystem.target(ofLink: "/proc/thread-self") ?? "")/stat"
  }

  /// How many nanoseconds of a processor's time the thread has used; nil when the system can't say,
  /// because the thread has ended for instance.
  var processorTime: Int64? {
    guard let clock else { return nil }
    var time = timespec()
    guard unsafe clock_gettime(clock, &time) == 0 else { return nil }
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }

  /// Whether the thread neither runs nor waits for a processor: the state in `/proc/…/stat`, the
  /// letter after the closing parenthesis of the command.
  var isAsleep: Bool {
    let file = unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return true }
    defer { close(file) }
    var buffer = [UInt8](repeating: 0, count: 256)
    let length = unsafe read(file, &buffer, buffer.count)
    guard length > 0, let parenthesis = buffer[..<length].lastIndex(of: UInt8(ascii: ")")) else {
      return true
    }
    let index = parenthesis + 2
    return index >= length || buffer[index] != UInt8(ascii: "R")
  }
}
#endif
