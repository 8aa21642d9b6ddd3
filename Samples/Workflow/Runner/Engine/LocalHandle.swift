#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// What finds a process again that an earlier runner has started: its number and when it began,
/// because numbers are used again, and since which start of the machine.
///
/// On systems without `/proc` there are none.
struct LocalHandle: Equatable {
  let leader: Int32
  /// Between which ticks of the machine's clock the process began: the runner reads the clock before
  /// and after, which costs less than a file of `/proc` for each process that it starts.
  let begin: ClosedRange<UInt64>
  let boot: String

  /// The handle of a process that has begun just now.
  ///
  /// - Parameters:
  ///   - group: What the process leads.
  ///   - earliest: ``now`` before the process was started.
  init?(_ group: ProcessGroup, since earliest: UInt64) {
    guard let boot = Self.boot else { return nil }
    leader = group.leader
    begin = earliest...max(earliest, Self.now)
    self.boot = boot
  }

  init?(_ text: String) {
    let parts = text.split(separator: " ", omittingEmptySubsequences: false)
    guard parts.count == 3, let leader = Int32(parts[0]), leader > 1 else { return nil }
    self.leader = leader
    let ticks = parts[1].split(separator: "-", omittingEmptySubsequences: false).map { UInt64($0) }
    guard let first = ticks.first ?? nil, let last = ticks.last ?? nil, ticks.count <= 2,
      first <= last
    else { return nil }
    begin = first...last
    boot = String(parts[2])
  }

  /// `1234 567890-567891` and the start of the machine; one tick stands alone.
  var text: String {
    let (first, last) = (begin.lowerBound, begin.upperBound)
    return "\(leader) \(first == last ? "\(first)" : "\(first)-\(last)") \(boot)"
  }

  /// How many ticks ago the machine started, as the system counts for the begin of a process; 0 where
  /// there is no `/proc`.
  static var now: UInt64 {
    #if os(Linux)
    var time = timespec()
    clock_gettime(CLOCK_BOOTTIME, &time)
    let nanoseconds = UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    return nanoseconds / (1_000_000_000 / ticksPerSecond)
    #else
    return 0
    #endif
  }

  #if os(Linux)
  private static let ticksPerSecond = UInt64(max(sysconf(Int32(_SC_CLK_TCK)), 1))
  #endif

  /// The processes of the attempt, if any of them can still be there.
  var group: ProcessGroup? {
    guard boot == Self.boot else { return nil }
    // When the leader has ended, its number isn't given to others as long as its group has members.
    if let now = ProcessStatus(of: leader)?.begin, !begin.contains(now) { return nil }
    return ProcessGroup(leader: leader)
  }

  private static let boot = text(of: "/proc/sys/kernel/random/boot_id")
    .map { String($0.filter { !$0.isWhitespace }) }

  private static func text(of path: String) -> String? {
    guard let file = try? OpenFile(path, O_RDONLY), let bytes = try? file.readAll() else {
      return nil
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
