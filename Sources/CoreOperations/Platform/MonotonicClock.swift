#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Android)
import Android
#endif

/// The system's clock that never goes backwards.
package enum MonotonicClock {
  /// The nanoseconds since a moment that stays the same while the system runs.
  package static var nanoseconds: Int64 {
    #if canImport(Darwin)
    // Apple's CLOCK_MONOTONIC counts microseconds and has been seen to step back
    // (https://github.com/erlang/otp/issues/5825).
    return Int64(clock_gettime_nsec_np(CLOCK_UPTIME_RAW))
    #else
    return nanoseconds(of: CLOCK_MONOTONIC)
    #endif
  }

  /// The nanoseconds of the clock that continues while the machine sleeps.
  ///
  /// This is the clock of `ContinuousClock`, which takes five times as many instructions (callgrind).
  package static var continuousNanoseconds: Int64 {
    #if canImport(Darwin)
    return Int64(clock_gettime_nsec_np(CLOCK_MONOTONIC_RAW))
    #else
    return nanoseconds(of: CLOCK_BOOTTIME)
    #endif
  }

  #if !canImport(Darwin)
  private static func nanoseconds(of clock: clockid_t) -> Int64 {
    var now = timespec()
    unsafe clock_gettime(clock, &now)
    return Int64(now.tv_sec) * 1_000_000_000 + Int64(now.tv_nsec)
  }
  #endif

  /// Blocks the thread for a duration; a signal may end the block early.
  package static func block(for duration: Duration) {
    let (seconds, attoseconds) = duration.components
    var time = timespec()
    time.tv_sec = .init(clamping: seconds)
    time.tv_nsec = .init(clamping: attoseconds / 1_000_000_000)
    unsafe nanosleep(&time, nil)
  }
}
