#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#elseif canImport(Glibc)
import Glibc
#endif

/// The system's clock that never goes back.
package enum MonotonicClock {
  /// Nanoseconds since some moment that stays the same while the system runs.
  static var nanoseconds: Int64 {
    var now = timespec()
    unsafe clock_gettime(CLOCK_MONOTONIC, &now)
    return Int64(now.tv_sec) * 1_000_000_000 + Int64(now.tv_nsec)
  }

  /// Blocks the thread; a signal may end that early.
  package static func block(for duration: Duration) {
    let (seconds, attoseconds) = duration.components
    var time = timespec()
    time.tv_sec = .init(seconds)
    time.tv_nsec = .init(attoseconds / 1_000_000_000)
    unsafe nanosleep(&time, nil)
  }
}
