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
  /// The number of threads that can compute at the same time; at least 1.
  ///
  /// The value is the number of processors in the affinity mask of the calling thread, or the quota of its
  /// control groups, rounded up, if the quota is smaller.
  ///
  /// Threads inherit the mask of the thread that creates them.
  package static var available: Int {
    #if os(Linux) || os(Android)
    available(within: ControlGroups())
    #else
    max(1, online)
    #endif
  }

  /// A Boolean value that indicates whether one thread can watch the progress of another; determined once,
  /// because that reads files.
  static let areSeveral = available > 1

  /// The number of processors that the system has in operation.
  private static var online: Int { Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))) }

  #if os(Linux) || os(Android)
  package static func available(within groups: ControlGroups) -> Int {
    max(1, min(inAffinityMask ?? online, groups.processorQuota ?? .max))
  }

  /// The number of processors that the calling thread may run on; nil if the kernel doesn't report it.
  private static var inAffinityMask: Int? {
    // The mask has one bit for each processor. The kernel refuses a mask that is too short for the machine.
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
// The headers declare the function for `_GNU_SOURCE` only, which Swift's module of the C library doesn't
// define.
@_silgen_name("sched_getaffinity")
private func sched_getaffinity(
  _ thread: Int32,
  _ byteCount: Int,
  _ mask: UnsafeMutableRawPointer
) -> Int32
#endif

/// The control groups of this process, with which Linux limits its resources, especially in containers.
///
/// The kernel shows the groups as files. Version 2 has one hierarchy, with the limit in `cpu.max`
/// (https://docs.kernel.org/admin-guide/cgroup-v2.html). Version 1 has one hierarchy for each kind of limit.
/// The limit of processors is in `cpu.cfs_quota_us` and `cpu.cfs_period_us`
/// (https://docs.kernel.org/scheduler/sched-bwc.html).
package struct ControlGroups: Sendable {
  private let folder: String
  private let membership: String

  /// Creates a view of the files.
  ///
  /// - Parameters:
  ///   - folder: The folder in which the hierarchies are mounted.
  ///   - membership: The file that lists the groups that the process is in.
  package init(folder: String = "/sys/fs/cgroup", membership: String = "/proc/self/cgroup") {
    self.folder = folder
    self.membership = membership
  }

  /// The number of processors whose time the process may use, rounded up; nil without a limit.
  ///
  /// A group has at most the quota of the group around it, so the smallest quota along the path applies.
  package var processorQuota: Int? {
    guard let list = FileSystem.text(of: membership) else { return nil }
    return list.split(separator: "\n").compactMap { quota(line: $0) }.min()
  }

  /// Returns the limit of one line of the list: `hierarchy:kinds:path`.
  private func quota(line: Substring) -> Int? {
    let fields = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
    guard fields.count == 3 else { return nil }
    let kinds = fields[1].split(separator: ",")
    if kinds.isEmpty {
      // Next to hierarchies of version 1, the hierarchy of version 2 is in a subfolder.
      return least(of: Self.unifiedQuota, along: fields[2], in: ["", "/unified"])
    }
    if kinds.contains("cpu") {
      return least(of: Self.legacyQuota, along: fields[2], in: ["/cpu", "/\(fields[1])"])
    }
    return nil
  }

  /// Returns the smallest limit of a group and of the groups around it, as far as they are visible.
  ///
  /// In a container, the group of the container is the root of the mounted hierarchy, regardless of its path
  /// outside.
  private func least(
    of quota: (_ group: String) -> Int?,
    along path: Substring,
    in mounts: [String]
  ) -> Int? {
    var names = path.split(separator: "/")
    // The group is outside of the part that this process can see.
    if names.contains("..") { names = [] }
    return mounts.flatMap { mount in
      (0...names.count).compactMap { depth in
        quota(([folder + mount] + names.prefix(depth).map(String.init)).joined(separator: "/"))
      }
    }.min()
  }

  /// Parses `max 100000`, or `150000 100000`: the microseconds of processor time in a period.
  private static func unifiedQuota(_ group: String) -> Int? {
    let fields = FileSystem.text(of: group + "/cpu.max")?.split { " \n".contains($0) } ?? []
    guard let first = fields.first, let quota = Int(first) else { return nil }
    return processors(quota, in: fields.dropFirst().first.map { Int($0) } ?? 100_000)
  }

  private static func legacyQuota(_ group: String) -> Int? {
    func number(_ file: String) -> Int? {
      FileSystem.text(of: "\(group)/\(file)")?.split(separator: "\n").first.flatMap { Int($0) }
    }
    guard let quota = number("cpu.cfs_quota_us") else { return nil }
    return processors(quota, in: number("cpu.cfs_period_us"))
  }

  /// Returns the number of processors of a quota; version 1 uses -1 for no quota.
  private static func processors(_ quota: Int, in period: Int?) -> Int? {
    guard let period, quota > 0, period > 0 else { return nil }
    return quota / period + (quota % period > 0 ? 1 : 0)
  }
}

/// Memory from the system's allocator.
enum Memory {
  /// - Returns: The memory; nil if there is none left.
  @inline(__always)
  static func allocate(_ byteCount: Int) -> UnsafeMutableRawPointer? {
    unsafe malloc(byteCount)
  }

  @inline(__always)
  static func free(_ pointer: UnsafeMutableRawPointer) {
    #if canImport(Darwin)
    unsafe Darwin.free(pointer)
    #elseif canImport(Musl)
    unsafe Musl.free(pointer)
    #elseif canImport(Glibc)
    unsafe Glibc.free(pointer)
    #elseif canImport(Android)
    unsafe Android.free(pointer)
    #else
    #error("Add the system's free(_:) here.")
    #endif
  }
}
