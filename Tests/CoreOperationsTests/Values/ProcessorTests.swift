import TestSupport

#if os(Linux) || os(Android)
import CoreOperations
import Foundation
import Testing

// The other systems have no control groups.

/// Files in place of those that the kernel shows.
private struct KernelFiles: ~Copyable {
  private let folder = FileManager.default.temporaryDirectory
    .appendingPathComponent("control groups \(UUID())")

  init(_ texts: [String: String]) throws {
    for (path, text) in texts {
      let file = folder.appendingPathComponent(path)
      try FileManager.default.createDirectory(
        at: file.deletingLastPathComponent(),
        withIntermediateDirectories: true
      )
      try text.write(to: file, atomically: false, encoding: .utf8)
    }
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  var groups: ControlGroups {
    ControlGroups(
      folder: folder.appendingPathComponent("cgroup").path,
      membership: folder.appendingPathComponent("self").path
    )
  }
}

@Suite struct `Processors that the process may use` {
  private static let unifiedQuotas: [(String, Int?)] = [
    ("max 100000\n", nil), ("150000 100000\n", 2), ("100000 100000\n", 1), ("1000 100000\n", 1),
    ("400000 100000\n", 4), ("400001 100000\n", 5), ("25000 50000\n", 1), ("200000", 2),
    ("0 100000\n", nil), ("-1 100000\n", nil), ("100000 0\n", nil), ("", nil), ("many\n", nil),
    ("\(Int.max) 1\n", .max), ("1 \(Int.max)\n", 1), ("99999999999999999999 100000\n", nil),
  ]

  @Test(arguments: unifiedQuotas)
  func `the quota of a version 2 group limits the processors`(
    text: String,
    quota: Int?
  ) throws {
    let files = try KernelFiles(["self": "0::/app\n", "cgroup/app/cpu.max": text])
    #expect(files.groups.processorQuota == quota)
  }

  private static let legacyQuotas: [(String, String, Int?)] = [
    ("-1", "100000", nil), ("150000", "100000", 2), ("50000", "100000", 1), ("0", "100000", nil),
    ("300000", "50000", 6), ("150000", "0", nil), ("", "", nil),
  ]

  @Test(arguments: legacyQuotas)
  func `the quota of a version 1 group limits the processors`(
    quota: String,
    period: String,
    expected: Int?
  ) throws {
    let files = try KernelFiles([
      "self": "5:memory:/other\n4:cpu,cpuacct:/docker/1\n1:name=systemd:/\n0::/\n",
      "cgroup/cpu,cpuacct/docker/1/cpu.cfs_quota_us": quota + "\n",
      "cgroup/cpu,cpuacct/docker/1/cpu.cfs_period_us": period + "\n",
    ])
    #expect(files.groups.processorQuota == expected)
  }

  @Test func `the least quota along the path limits the processors`() throws {
    let files = try KernelFiles([
      "self": "0::/slice/service/worker\n",
      "cgroup/slice/cpu.max": "250000 100000\n",
      "cgroup/slice/service/cpu.max": "max 100000\n",
      "cgroup/slice/service/worker/cpu.max": "800000 100000\n",
      "cgroup/slice/other/cpu.max": "100000 100000\n",
    ])
    #expect(files.groups.processorQuota == 3)
  }

  @Test(arguments: ["0::/", "0::/docker/2f61a0", "0::/../sibling", "4:cpu:/docker/2f61a0"])
  func `a container's quota is found at the root of the mount`(
    membership: String
  ) throws {
    let files = try KernelFiles([
      "self": membership + "\n",
      "cgroup/cpu.max": "150000 100000\n",
      "cgroup/sibling/cpu.max": "100000 100000\n",
      "cgroup/cpu/cpu.cfs_quota_us": "150000\n",
      "cgroup/cpu/cpu.cfs_period_us": "100000\n",
    ])
    #expect(files.groups.processorQuota == 2)
  }

  @Test func `a quota is found if both group versions are mounted`() throws {
    let files = try KernelFiles([
      "self": "1:cpu:/a\n0::/a\n",
      "cgroup/unified/a/cpu.max": "300000 100000\n",
      "cgroup/cpu/a/cpu.cfs_quota_us": "700000\n",
      "cgroup/cpu/a/cpu.cfs_period_us": "100000\n",
    ])
    #expect(files.groups.processorQuota == 3)
  }

  @Test(arguments: [nil, "", "\n", "nonsense\n", "0:\n", "0::\n", "7:cpuset:/a\n", "::\n"])
  func `an unreadable quota doesn't limit the processors`(membership: String?) throws {
    var texts = ["cgroup/a/cpu.cfs_quota_us": "100000"]
    texts["self"] = membership
    let files = try KernelFiles(texts)
    #expect(files.groups.processorQuota == nil)
    #expect(Processors.available(within: files.groups) >= 1)
  }

  @Test func `the processor count is at least one and at most the machine's`() throws {
    let all = Processors.available(within: try KernelFiles([:]).groups)
    #expect(all <= ProcessInfo.processInfo.processorCount)
    let files = try KernelFiles(["self": "0::/\n", "cgroup/cpu.max": "1000 100000\n"])
    #expect(Processors.available(within: files.groups) == 1)
    let many = try KernelFiles(["self": "0::/\n", "cgroup/cpu.max": "99999900000 100000\n"])
    #expect(Processors.available(within: many.groups) == all)
  }

  @Test func `the processor count equals the thread's affinity mask`() async throws {
    // The kernel's own list for this thread, such as “0-3,8”.
    let status = try String(contentsOfFile: "/proc/thread-self/status", encoding: .utf8)
    let lines = status.split(separator: "\n")
    let list = try #require(lines.first { $0.hasPrefix("Cpus_allowed_list:") })
    let first = try #require(Int(list.split(separator: "\t")[1].prefix { $0.isNumber }))
    let groups = ControlGroups(folder: "/nowhere", membership: "/nowhere")
    let counts = await onThread {
      let before = Processors.available(within: groups)
      var mask = [UInt64](repeating: 0, count: 1024)
      mask[first / 64] |= 1 << (first % 64)
      let result = unsafe mask.withUnsafeBytes { mask in
        unsafe sched_setaffinity(0, mask.count, mask.baseAddress)
      }
      return (before, result == 0 ? Processors.available(within: groups) : 0)
    }
    #expect(counts.0 >= 1)
    #expect(counts.1 == 1)
  }
}

@_silgen_name("sched_setaffinity")
private func sched_setaffinity(
  _ thread: Int32,
  _ byteCount: Int,
  _ mask: UnsafeRawPointer?
) -> Int32
#endif
