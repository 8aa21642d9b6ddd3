import AdvancedOperations
import AdvancedOperationsTesting
import Foundation
import Testing
import WorkflowDocument

@testable import WorkflowRunner

#if canImport(Glibc)
import Glibc
#endif

/// The conditions of steps, each on its own.
@Suite struct ConditionTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func answer(_ condition: any OperationCondition) async -> String {
    let operation = AdvancedOperation()
    var result = condition.immediateResult(for: operation)
    if result == nil { result = await condition.evaluate(for: operation) }
    switch result {
    case .satisfied, nil: return "holds"
    case .failed(let error): return error is ConditionProblem ? "\(error)" : "error: \(error)"
    case .skipped(let reason): return "skipped: \(reason)"
    }
  }

  private func path(_ name: String) -> ConditionText { ConditionText("\(folder.path)/\(name)") }

  private func change(_ name: String, at seconds: Int) throws {
    try folder.write("", to: name)
    try FileManager.default.setAttributes(
      [.modificationDate: Date(timeIntervalSince1970: Double(seconds))],
      ofItemAtPath: "\(folder.path)/\(name)"
    )
  }

  @Test func `Files exist, or are missing`() async throws {
    try folder.write("", to: "a")
    #expect(await answer(FilesExist(paths: [path("a"), path(".")])) == "holds")
    #expect(
      await answer(FilesExist(paths: [path("a"), path("b")]))
        == "there is no file \(folder.path)/b"
    )
    #expect(await answer(FilesMissing(paths: [path("b"), path("a/b")])) == "holds")
    #expect(
      await answer(FilesMissing(paths: [path("b"), path("a")]))
        == "there is a file \(folder.path)/a"
    )
  }

  @Test func `An input is newer than the oldest output, or an output is missing`() async throws {
    try change("in", at: 2_000)
    try change("old", at: 1_000)
    try change("new", at: 3_000)
    let newer = { (outputs: [String]) in
      NewerThan(inputs: [path("in")], outputs: outputs.map(path))
    }
    #expect(await answer(newer(["new", "old"])) == "holds")
    #expect(await answer(newer(["new", "none"])) == "holds")
    #expect(await answer(newer(["new"])) == "\(folder.path)/new is up to date")
    try change("same", at: 2_000)
    #expect(await answer(newer(["same"])) == "\(folder.path)/same is up to date")
  }

  @Test func `A folder is as new as the newest file in it`() async throws {
    try FileManager.default.createDirectory(
      atPath: folder.path + "/in/deep/er",
      withIntermediateDirectories: true
    )
    try change("in/deep/er/file", at: 5_000)
    for name in ["in/deep/er", "in/deep", "in"] {
      try FileManager.default.setAttributes(
        [.modificationDate: Date(timeIntervalSince1970: 1_000)],
        ofItemAtPath: "\(folder.path)/\(name)"
      )
    }
    // A folder that leads to itself has an end.
    symlink(folder.path + "/in", folder.path + "/in/deep/ring")
    var times = [timespec(tv_sec: 1_000, tv_nsec: 0), timespec(tv_sec: 1_000, tv_nsec: 0)]
    utimensat(AT_FDCWD, folder.path + "/in/deep/ring", &times, AT_SYMLINK_NOFOLLOW)
    try FileManager.default.setAttributes(
      [.modificationDate: Date(timeIntervalSince1970: 1_000)],
      ofItemAtPath: folder.path + "/in/deep"
    )
    try change("out4", at: 4_000)
    try change("out6", at: 6_000)
    #expect(await answer(NewerThan(inputs: [path("in")], outputs: [path("out4")])) == "holds")
    #expect(
      await answer(NewerThan(inputs: [path("in")], outputs: [path("out6")])) != "holds"
    )
  }

  @Test func `A link in a folder is as new as the file that it leads to`() async throws {
    for name in ["in", "other"] {
      try FileManager.default.createDirectory(
        atPath: "\(folder.path)/\(name)",
        withIntermediateDirectories: true
      )
    }
    try change("other/file", at: 5_000)
    symlink("../other/file", folder.path + "/in/link")
    symlink("../gone", folder.path + "/in/broken")
    var times = [timespec(tv_sec: 1_000, tv_nsec: 0), timespec(tv_sec: 1_000, tv_nsec: 0)]
    for name in ["in/link", "in/broken", "in"] {
      utimensat(AT_FDCWD, "\(folder.path)/\(name)", &times, AT_SYMLINK_NOFOLLOW)
    }
    try change("out4", at: 4_000)
    try change("out6", at: 6_000)
    #expect(await answer(NewerThan(inputs: [path("in")], outputs: [path("out4")])) == "holds")
    #expect(await answer(NewerThan(inputs: [path("in")], outputs: [path("out6")])) != "holds")
  }

  @Test func `An output that is a folder is as new as the newest file in it`() async throws {
    try FileManager.default.createDirectory(
      atPath: folder.path + "/out",
      withIntermediateDirectories: true
    )
    try change("out/file", at: 4_000)
    try FileManager.default.setAttributes(
      [.modificationDate: Date(timeIntervalSince1970: 1_000)],
      ofItemAtPath: folder.path + "/out"
    )
    try change("in", at: 3_000)
    #expect(await answer(NewerThan(inputs: [path("in")], outputs: [path("out")])) != "holds")
    try change("in", at: 5_000)
    #expect(await answer(NewerThan(inputs: [path("in")], outputs: [path("out")])) == "holds")
  }

  @Test func `Neither outputs nor folders of runs make the folder around them newer`() async throws
  {
    try FileManager.default.createDirectory(
      atPath: folder.path + "/.workflow/runs",
      withIntermediateDirectories: true
    )
    try change("in", at: 1_000)
    try change("first", at: 2_000)
    try change("second", at: 3_000)
    try change(".workflow/runs/journal", at: 9_000)
    for name in [".workflow", "."] {
      try FileManager.default.setAttributes(
        [.modificationDate: Date(timeIntervalSince1970: 1_000)],
        ofItemAtPath: "\(folder.path)/\(name)"
      )
    }
    let newer = NewerThan(inputs: [path(".")], outputs: [path("first"), path("second")])
    #expect(await answer(newer) == "\(folder.path)/first is up to date")
    try change("in", at: 2_500)
    #expect(await answer(newer) == "holds")
  }

  @Test func `An input that isn't there is a mistake, also for a step that would be skipped`() async
  {
    let condition = NewerThan(inputs: [path("none")], outputs: [path("out")])
    let text = "error: there is no file \(folder.path)/none, one of the inputs of ‘newer’"
    #expect(await answer(condition) == text)
    #expect(await answer(SkippedUnless(condition: condition)) == text)
  }

  @Test func `A variable is set, or has a value, which isn't shown`() async {
    let variable = { (value: String?, needed: String?) in
      EnvironmentVariable(variable: "X", needed: needed.map { ConditionText($0) }) { value }
    }
    #expect(await answer(variable("secret", nil)) == "holds")
    #expect(await answer(variable("", nil)) == "the variable X is empty")
    #expect(await answer(variable(nil, nil)) == "the variable X is not set")
    #expect(await answer(variable("yes", "yes")) == "holds")
    #expect(await answer(variable("secret", "yes")) == "the variable X is not “yes”")
    #expect(await answer(variable(nil, "")) == "holds")
  }

  @Test func `A volume has room`() async {
    #expect(await answer(FreeDisk(bytes: 1, path: path("not/yet/there"))) == "holds")
    let text = await answer(FreeDisk(bytes: .max, path: path(".")))
    #expect(text.contains("are needed") && !text.hasSuffix(".") && !text.hasPrefix("error"))
  }

  @Test func `Outcomes are expressions`() async {
    let outcomes: [String: OutcomeExpression.Outcome] = ["a": .failed, "b": .skipped]
    let holds = { (expression: OutcomeExpression) in
      StepOutcomes(expression: expression) { outcomes[$0] }
    }
    let failed = OutcomeExpression.step("a", is: .failed)
    let succeeded = OutcomeExpression.step("b", is: .succeeded)
    #expect(await answer(holds(.or(failed, succeeded))) == "holds")
    #expect(await answer(holds(.and(failed, .not(succeeded)))) == "holds")
    #expect(
      await answer(holds(.and(failed, succeeded)))
        == "the outcomes are different: ‘a’ failed, ‘b’ was skipped"
    )
  }

  @Test func `A condition of ‘when’ skips, and keeps its errors`() async {
    let missing = FilesExist(paths: [path("none")])
    #expect(
      await answer(SkippedUnless(condition: missing))
        == "skipped: there is no file \(folder.path)/none"
    )
    struct Broken: Error, CustomStringConvertible { let description = "broken" }
    let broken = FilesExist(paths: [ConditionText { throw Broken() }])
    #expect(await answer(SkippedUnless(condition: broken)) == "error: broken")
  }

  @Test func `A host answers, or refuses`() async throws {
    let (listener, other) = (Port(isOpen: true), Port(isOpen: false))
    defer { for port in [listener, other] { port.end() } }
    // Patience with other processes: the answers come at once.
    let open = HostReachable(
      host: ConditionText("127.0.0.1"),
      port: listener.number,
      timeLimit: .seconds(3_600)
    )
    #expect(await answer(open) == "holds")
    let closed = HostReachable(
      host: ConditionText("127.0.0.1"),
      port: other.number,
      timeLimit: .seconds(3_600)
    )
    #expect(
      await answer(closed) == "127.0.0.1:\(other.number) can't be reached: Connection refused"
    )
  }

  @Test func `A host without a time limit's worth of patience is given up`() async {
    let condition = HostReachable(
      host: ConditionText("192.0.2.1"),
      port: 9,
      timeLimit: .milliseconds(20)
    )
    // Without a network it fails at once, with another reason.
    #expect(await answer(condition).hasPrefix("192.0.2.1:9 can't be reached: "))
  }
}

/// A port of this machine that accepts connections, or refuses them and is no one else's.
private struct Port {
  let descriptor: Int32
  let number: Int

  init(isOpen: Bool) {
    #if canImport(Glibc)
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    #else
    descriptor = socket(AF_INET, SOCK_STREAM, 0)
    #endif
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let descriptor = descriptor
    withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { raw in
        _ = bind(descriptor, raw, size)
        if isOpen { _ = listen(descriptor, 4) }
        _ = getsockname(descriptor, raw, &size)
      }
    }
    number = Int(UInt16(bigEndian: address.sin_port))
  }

  func end() { close(descriptor) }
}
