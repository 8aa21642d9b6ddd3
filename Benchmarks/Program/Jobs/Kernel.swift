import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// Work that takes time and cannot be optimised away.
enum Kernel {
  private static let sink = Atomic<UInt64>(0)

  /// Steps for bodies that capture nothing; set before a job begins.
  static let steps = Atomic<Int>(0)

  /// Computes for so many steps, of a nanosecond or so each.
  @inline(never) static func spin(_ steps: Int) {
    var state: UInt64 = 0x9E37_79B9_7F4A_7C15
    for _ in 0..<steps {
      state ^= state << 13
      state ^= state >> 7
      state ^= state << 17
    }
    // Never true, since xorshift doesn't leave zero out; the compiler does not know.
    if state == 0 { sink.store(1, ordering: .relaxed) }
  }

  /// How long so many calls take one after the other, in seconds by the clock and of the processor.
  static func serialTime(steps: Int, calls: Int) -> (wall: Double, cpu: Double) {
    let begun = ContinuousClock.now
    let cpuBegun = threadTime
    for _ in 0..<calls { spin(steps) }
    return ((ContinuousClock.now - begun).seconds, threadTime - cpuBegun)
  }

  /// The processor's time that this thread has used.
  private static var threadTime: Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
  }

  /// Steps that take a processor about so long, in seconds, however busy the machine is.
  static func steps(lasting seconds: Double) -> Int {
    let probe = 400_000
    let time = (0..<12).map { _ in serialTime(steps: probe, calls: 1).cpu }.min() ?? 1
    return max(1, Int(seconds / time * Double(probe)))
  }
}

extension Duration {
  var seconds: Double {
    Double(components.seconds) + Double(components.attoseconds) * 1e-18
  }
}
