/// The control groups of this process, with which Linux limits what it may use, in containers above
/// all.
///
/// The kernel shows them as files. Version 2 has one hierarchy, with the limit in `cpu.max`
/// (https://docs.kernel.org/admin-guide/cgroup-v2.html); version 1 has one hierarchy for each kind
/// of limit, with that of processors in `cpu.cfs_quota_us` and `cpu.cfs_period_us`
/// (https://docs.kernel.org/scheduler/sched-bwc.html).
package struct ControlGroups: Sendable {
  private let folder: String
  private let membership: String

  /// Creates a view of the files.
  ///
  /// - Parameters:
  ///   - folder: Where the hierarchies are mounted.
  ///   - membership: The file that lists the groups that the process is in.
  package init(folder: String = "/sys/fs/cgroup", membership: String = "/proc/self/cgroup") {
    self.folder = folder
    self.membership = membership
  }

  /// How many processors' worth of time the process may use, rounded up; nil without a limit.
  ///
  /// A group has at most what the group around it has, so the least along the path counts.
  package var processorQuota: Int? {
    guard let list = FileSystem.text(of: membership) else { return nil }
    return list.split(separator: "\n").compactMap { quota(line: $0) }.min()
  }

  /// The limit of one line of the list: `hierarchy:kinds:path`.
  private func quota(line: Substring) -> Int? {
    let fields = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
    guard fields.count == 3 else { return nil }
    let kinds = fields[1].split(separator: ",")
    if kinds.isEmpty {
      // Beside hierarchies of version 1, that of version 2 is one folder further down.
      return least(of: Self.unifiedQuota, along: fields[2], in: ["", "/unified"])
    }
    if kinds.contains("cpu") {
      return least(of: Self.legacyQuota, along: fields[2], in: ["/cpu", "/\(fields[1])"])
    }
    return nil
  }

  /// The least limit of a group and of those around it, as far as they can be seen: in a container,
  /// the group of the container is the root of what is mounted, whatever its path outside.
  private func least(
    of quota: (_ group: String) -> Int?,
    along path: Substring,
    in mounts: [String]
  ) -> Int? {
    var names = path.split(separator: "/")
    // The group is outside of what this process can see.
    if names.contains("..") { names = [] }
    return mounts.flatMap { mount in
      (0...names.count).compactMap { depth in
        quota(([folder + mount] + names.prefix(depth).map(String.init)).joined(separator: "/"))
      }
    }.min()
  }

  /// `max 100000`, or `150000 100000`: microseconds of processors' time in a period.
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

  /// What a quota is worth; version 1 has -1 for none.
  private static func processors(_ quota: Int, in period: Int?) -> Int? {
    guard let period, quota > 0, period > 0 else { return nil }
    return quota / period + (quota % period > 0 ? 1 : 0)
  }
}
