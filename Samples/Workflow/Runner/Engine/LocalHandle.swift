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
  let begin: String
  let boot: String

  /// The handle of a process that is there.
  init?(_ group: ProcessGroup) {
    guard let boot = Self.boot, let begin = ProcessStatus(of: group.leader)?.begin else {
      return nil
    }
    leader = group.leader
    self.begin = begin
    self.boot = boot
  }

  init?(_ text: String) {
    let parts = text.split(separator: " ", omittingEmptySubsequences: false)
    guard parts.count == 3, let leader = Int32(parts[0]), leader > 1 else { return nil }
    self.leader = leader
    begin = String(parts[1])
    boot = String(parts[2])
  }

  var text: String { "\(leader) \(begin) \(boot)" }

  /// The processes of the attempt, if any of them can still be there.
  var group: ProcessGroup? {
    guard boot == Self.boot else { return nil }
    // When the leader has ended, its number isn't given to others as long as its group has members.
    if let now = ProcessStatus(of: leader)?.begin, now != begin { return nil }
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
