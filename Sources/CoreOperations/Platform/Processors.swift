#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Android)
import Android
#endif

/// The processors that the process may use, which may be fewer than the machine has.
package enum Processors {
  /// How many threads can compute at once: as many as there are processors in the affinity mask of
  /// the calling thread, or as the quota of its control groups is worth, rounded up; at least 1.
  ///
  /// Threads inherit the mask of the thread that creates them.
  package static var available: Int {
    #if os(Linux) || os(Android)
    available(within: ControlGroups())
    #else
    max(1, online)
    #endif
  }

  /// Whether one thread can watch for what another one does meanwhile; found out once, as that
  /// reads files.
  static let areSeveral = available > 1

  /// How many processors the system has at work.
  private static var online: Int { Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))) }

  #if os(Linux) || os(Android)
  package static func available(within groups: ControlGroups) -> Int {
    max(1, min(inAffinityMask ?? online, groups.processorQuota ?? .max))
  }

  /// The number of processors that the calling thread may run on; nil if the kernel doesn't say.
  private static var inAffinityMask: Int? {
    // One bit for each processor; the kernel refuses a mask that is too short for the machine.
    var mask = [UInt64](repeating: 0, count: 1024)
    let result = unsafe mask.withUnsafeMutableBytes { mask in
      guard let address = mask.baseAddress else { return Int32(-1) }
      return unsafe sched_getaffinity(0, mask.count, address)
    }
    return result == 0 ? mask.reduce(0) { $0 + $1.nonzeroBitCount } : nil
  }
  #endif
}

#if os(Linux) || os(Android)
// The headers declare it for `_GNU_SOURCE` only, which Swift's module of the C library doesn't
// define.
@_silgen_name("sched_getaffinity")
private func sched_getaffinity(
  _ thread: Int32,
  _ byteCount: Int,
  _ mask: UnsafeMutableRawPointer
) -> Int32
#endif
