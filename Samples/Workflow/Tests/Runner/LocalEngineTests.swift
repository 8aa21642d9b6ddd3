import Foundation
import Synchronization
import Testing
import WorkflowDocument

@testable import WorkflowRunner

#if canImport(Glibc)
import Glibc
#endif

@Suite(.timeLimit(.minutes(5))) struct LocalEngineTests {
  let folder: TemporaryFolder
  let reports: Reports

  init() throws {
    folder = try TemporaryFolder()
    reports = Reports(log: folder.path + "/log")
  }

  /// What an engine tells, in order, and what is in the log of its attempts.
  final class Reports: Sendable {
    private let state = Mutex<[StepReport]>([])
    private let log: String

    init(log: String) { self.log = log }

    var all: [StepReport] { state.withLock { $0 } }
    var lines: [String] {
      let bytes = FileManager.default.contents(atPath: log) ?? Data()
      return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
    }
    var hasBegun: Bool { !all.isEmpty }
    var handle: String? {
      for case .started(_, let handle?) in all { return handle }
      return nil
    }
    var process: Int32? { handle.flatMap { LocalHandle($0) }?.leader }
    func add(_ report: StepReport) { state.withLock { $0.append(report) } }
    /// Whether it has begun and printed a line.
    func contains(_ line: String) -> Bool { hasBegun && lines.contains(line) }
  }

  private func attempt(
    _ command: StepAttempt.Command,
    environment: [String: String] = ["PATH": "/usr/bin:/bin"],
    directory: String? = nil,
    grace: Duration = .seconds(60),
    in shell: Shell? = nil
  ) -> StepAttempt {
    var step = Step("a")
    step.shell = shell
    return StepAttempt(
      run: "run",
      step: step,
      number: 1,
      command: command,
      environment: environment,
      workingDirectory: directory ?? folder.path,
      logFile: folder.path + "/log",
      scratchFolder: folder.path,
      gracePeriod: grace
    )
  }

  private func run(
    _ attempt: StepAttempt,
    _ engine: LocalEngine = LocalEngine()
  ) async throws
    -> StepExit
  {
    let reports = reports
    return try await engine.run(attempt) { reports.add($0) }
  }

  private func shell(_ line: String) async throws -> StepExit {
    try await run(attempt(.shell(line)))
  }

  /// A line in which some words go on for ever.
  private static func loop(_ line: String) -> String {
    line.replacing("LOOP", with: "while :; do sleep 0.01 || true; done")
  }

  /// Returns when something is so; the time limit of the suite's process is the only one.
  private func until(_ condition: @Sendable () -> Bool) async throws {
    while !condition() { try await Task.sleep(for: .milliseconds(2)) }
  }

  @Test func `Both streams are in the log, in the order of writing`() async throws {
    let exit = try await shell("echo one; echo two >&2; echo three; printf rest")
    #expect(exit == StepExit(.exited(0)))
    #expect(reports.lines == ["one", "two", "three", "rest"])
    #expect(try folder.text("log") == "one\ntwo\nthree\nrest")
  }

  @Test func `A script ends at the first command that fails`() async throws {
    let exit = try await shell("echo before; false\ncd /nonexistent\necho after")
    #expect(exit.status == .exited(1))
    #expect(reports.lines == ["before"])
  }

  @Test func `A script ends at a variable that isn't set`() async throws {
    let exit = try await shell("echo before; echo $NOWHERE\necho after")
    #expect(!exit.isSuccess)
    #expect(reports.lines.first == "before")
    #expect(!reports.lines.contains("after"))
  }

  @Test func `A pipeline fails with its first command where the shell has pipefail`() async throws {
    let script = "false | cat"
    let shells = ["/bin/sh", "/bin/bash", "/bin/zsh"]
      .filter { FileManager.default.isExecutableFile(atPath: $0) }
    for shell in shells {
      let exit = try await run(attempt(.shell(script), in: .posix(shell)))
      let hasPipefail = await ShellOptions.hasPipefail(shell)
      #expect(exit.isSuccess == !hasPipefail, "\(shell)")
      #expect(hasPipefail || shell == "/bin/sh", "\(shell)")
    }
  }

  @Test func `A shell that is a list gets no options`() async throws {
    let script = "false; echo $NOWHERE after"
    let exit = try await run(attempt(.shell(script), in: .exactly(["sh", "-c"])))
    #expect(exit.isSuccess)
    #expect(reports.lines == ["after"])
  }

  @Test(arguments: [("/bin/sh\r", "carriage return"), ("/no/such/shell -x", "/no/such/shell")])
  func `The interpreter of a script that there is not is named`(
    _ line: String,
    _ word: String
  ) async throws {
    try folder.write("#!\(line)\necho\n", to: "script")
    try FileManager.default.setAttributes(
      [.posixPermissions: 0o755],
      ofItemAtPath: folder.path + "/script"
    )
    let error = await #expect(throws: LocalEngineError.self) {
      _ = try await run(attempt(.arguments(["./script"])))
    }
    #expect(error?.description.contains(word) == true, "\(error?.description ?? "")")
  }

  @Test func `A shell that there is not is named`() async throws {
    await #expect(throws: LocalEngineError.programNotFound(name: "zsh", searched: "/nonexistent")) {
      _ = try await run(
        attempt(.shell("x"), environment: ["PATH": "/nonexistent"], in: .posix("zsh"))
      )
    }
  }

  @Test func `A log is appended to`() async throws {
    _ = try await shell("echo one")
    _ = try await shell("echo two")
    #expect(try folder.lines("log") == ["one", "two"])
  }

  @Test func `An exit says its code, and the signal that ended a command`() async throws {
    #expect(try await shell("exit 7").status == .exited(7))
    #expect(try await shell("kill -KILL $$").status == .signalled(9))
  }

  #if os(Linux)
  @Test func `An attempt that begins while attempts are stopped is stopped, too`() async throws {
    let (engine, reports) = (LocalEngine(), reports)
    #expect(engine.suspend())
    let command = "while [ ! -e go ]; do :; done"
    async let exit = run(attempt(.shell(command)), engine)
    try await until { reports.process != nil }
    let process = try #require(reports.process)
    try await until {
      let status = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
      return status?.contains(") T ") == true
    }
    try Data().write(to: URL(filePath: folder.path + "/go"))
    engine.resume()
    #expect(try await exit == StepExit(.exited(0)))
  }
  #endif

  @Test func `Standard input is empty, and there is no terminal`() async throws {
    _ = try await shell("wc -c; (: < /dev/tty) 2>/dev/null && echo terminal || echo none")
    #expect(reports.lines.map { $0.trimmingCharacters(in: .whitespaces) } == ["0", "none"])
  }

  @Test func `A command gets its variables and its folder, and none of the runner's`() async throws
  {
    let path = folder.path
    try FileManager.default.createDirectory(
      atPath: path + "/sub",
      withIntermediateDirectories: true
    )
    let environment = ["PATH": "/usr/bin:/bin", "A": "ä =b", "1BAD": "x"]
    let exit = try await run(
      attempt(
        .shell("echo \"$A\"; pwd -P; env | wc -l"),
        environment: environment,
        directory: path + "/sub"
      )
    )
    #expect(exit.isSuccess)
    #expect(reports.lines.first == "ä =b")
    #expect(reports.lines[1].hasSuffix("/sub"))
  }

  @Test func `A relative folder of PATH starts from the folder of the step`() async throws {
    let bin = folder.path + "/sub/bin"
    try FileManager.default.createDirectory(atPath: bin, withIntermediateDirectories: true)
    try folder.write("#!/bin/sh\necho mine\n", to: "sub/bin/mine")
    chmod(bin + "/mine", 0o755)
    let exit = try await run(
      attempt(
        .arguments(["mine"]),
        environment: ["PATH": "./bin:/usr/bin:/bin"],
        directory: folder.path + "/sub"
      )
    )
    #expect(exit.isSuccess)
    #expect(reports.lines == ["mine"])
  }

  @Test func `Arguments reach the program as they are`() async throws {
    _ = try await run(attempt(.arguments(["printf", "<%s>\\n", "a b", "$HOME", "'\"", ""])))
    #expect(reports.lines == ["<a b>", "<$HOME>", "<'\">", "<>"])
  }

  @Test func `A program of the working directory is found by its path`() async throws {
    try folder.write("#!/bin/sh\necho found $1\n", to: "tool")
    chmod(folder.path + "/tool", 0o755)
    _ = try await run(attempt(.arguments(["./tool", "it"])))
    #expect(reports.lines == ["found it"])
  }

  @Test func `What isn't there is named`() async throws {
    await #expect(
      throws: LocalEngineError.programNotFound(name: "nosuch", searched: "/usr/bin:/bin")
    ) {
      try await run(attempt(.arguments(["nosuch"])))
    }
    await #expect(throws: LocalEngineError.programNotFound(name: "/no/such", searched: nil)) {
      try await run(attempt(.arguments(["/no/such"])))
    }
    await #expect(
      throws: LocalEngineError.noWorkingDirectory(
        path: "/no/such",
        reason: "No such file or directory"
      )
    ) { try await run(attempt(.shell("true"), directory: "/no/such")) }
    await #expect(throws: LocalEngineError.self) { try await run(attempt(.arguments([]))) }
    await #expect(throws: LocalEngineError.self) {
      try await run(attempt(.arguments(["echo", "a\0b"])))
    }
    #expect(try await shell("nosuch").status == .exited(127))
  }

  @Test func `A command ends with its process, whatever it leaves in the background`() async throws
  {
    let exit = try await shell(
      "(while [ ! -e go ]; do sleep 0.01 || true; done; echo late; : > done) & echo now"
    )
    #expect(exit.isSuccess)
    #expect(reports.lines == ["now"])
    let process = try #require(reports.process)
    #expect(
      reports.all.last
        == .notice(
          "its command has ended, and left processes behind that keep running (process group \(process))"
        )
    )
    try folder.write("", to: "go")
    let path = folder.path
    try await until { access(path + "/done", F_OK) == 0 }
    #expect(try folder.lines("log") == ["now", "late"])
  }

  @Test func `A cancel asks all processes of the command to end, and waits for that`() async throws
  {
    let reports = reports
    let engine = LocalEngine()
    let attempt = attempt(
      .shell(
        Self.loop(
          "trap 'echo bye; exit 0' TERM; (trap 'echo child; exit 0' TERM; echo up; LOOP) & LOOP"
        )
      )
    )
    let task = Task { try await run(attempt, engine) }
    try await until { reports.contains("up") }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    // A shell may say which of its children were ended.
    #expect(Set(try folder.lines("log")).isSuperset(of: ["up", "bye", "child"]))
  }

  @Test func `What doesn't end in its grace period is killed, children too`() async throws {
    let reports = reports
    let attempt = attempt(
      .shell(
        Self.loop("(trap '' TERM; echo child; LOOP) & trap '' TERM; echo up; LOOP")
      ),
      grace: .milliseconds(50)
    )
    let task = Task { try await run(attempt) }
    try await until { reports.hasBegun && reports.lines.count == 2 }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    let group = ProcessGroup(leader: try #require(reports.process))
    try await until { !group.isThere }
  }

  #if os(Linux)
  @Test func `Processes that have ended aren't waited for, whether their parent looks or not`()
    throws
  {
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP))
    var process = pid_t()
    let arguments = [strdup("true"), nil]
    defer { free(arguments[0]) }
    try #require(posix_spawn(&process, "/bin/true", nil, &attributes, arguments, nil) == 0)
    defer { waitpid(process, nil, 0) }
    var end = siginfo_t()
    try #require(waitid(P_PID, UInt32(process), &end, WEXITED | WNOWAIT) == 0)
    // It is in the table still.
    #expect(kill(-process, 0) == 0)
    #expect(!ProcessGroup(leader: process).isThere)
    #expect(ProcessGroup(leader: getpgid(0)).isThere)
  }
  #endif

  @Test func `A child that outlives its leader is ended as well`() async throws {
    let reports = reports
    let attempt = attempt(
      .shell("(trap '' TERM; echo up; while :; do sleep 0.01 || true; done) & wait"),
      grace: .milliseconds(50)
    )
    let task = Task { try await run(attempt) }
    try await until { reports.contains("up") }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    let group = ProcessGroup(leader: try #require(reports.process))
    try await until { !group.isThere }
  }

  /// It was killed a moment after it had started them.
  @Test func `What an earlier runner has started and not written down is ended`() async throws {
    let reports = reports
    let engine = LocalEngine()
    let path = folder.path
    func begin(_ name: String) -> Task<StepExit, any Error> {
      let attempt = attempt(
        .shell(Self.loop("LOOP")),
        environment: ["PATH": "/usr/bin:/bin", "WORKFLOW_OUTPUT": "\(path)/\(name).1.outputs"]
      )
      return Task { try await engine.run(attempt) { _ in } }
    }
    let tasks = [begin("mine"), begin("other")]
    let mine = path + "/mine.1.outputs"
    let other = path + "/other.1.outputs"
    try await until {
      let files = ProcessStatus.processes.map { Self.output(of: $0) }
      return files.contains(mine) && files.contains(other)
    }
    let report: @Sendable (StepReport) -> Void = { reports.add($0) }
    await LocalEngine().endUnrecorded(gracePeriod: .zero) { $0 == mine ? report : nil }
    #expect(!ProcessStatus.processes.contains { Self.output(of: $0) == mine })
    let exit = try await tasks[0].value
    #expect(!exit.isSuccess)
    #expect(reports.all.count == 1)
    #expect(ProcessStatus.processes.contains { Self.output(of: $0) == other })
    tasks[1].cancel()
    await #expect(throws: CancellationError.self) { try await tasks[1].value }
  }

  private static func output(of process: Int32) -> String? {
    ProcessStatus.variable("WORKFLOW_OUTPUT", of: process)
  }

  @Test func `What a failed command leaves has ended when its attempt has`() async throws {
    let exit = try await shell(
      Self.loop("(trap 'echo bye; exit 0' TERM; echo up; LOOP) & ") + """

        while ! grep -q up log; do sleep 0.01 || true; done; kill -9 $$
        """
    )
    #expect(exit.status == .signalled(9))
    #expect(reports.lines.contains("bye"))
    // Or all of its time would count as time in which it waited.
    #expect(reports.all.last == .waiting(for: nil))
    let group = ProcessGroup(leader: try #require(reports.process))
    #expect(!group.isThere)
  }

  @Test func `A kill waits for no grace period, and nothing begins afterwards`() async throws {
    let reports = reports
    let engine = LocalEngine()
    let attempt = attempt(.shell("trap '' TERM; echo up; while :; do sleep 0.01 || true; done"))
    let task = Task { try await run(attempt, engine) }
    try await until { reports.contains("up") }
    engine.kill()
    await #expect(throws: CancellationError.self) { try await task.value }
    await #expect(throws: CancellationError.self) { try await run(attempt, engine) }
  }

  @Test func `A task that was cancelled before starts nothing`() async throws {
    let attempt = attempt(.shell("echo ran"))
    let task = Task {
      while !Task.isCancelled { await Task.yield() }
      return try await run(attempt)
    }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(reports.lines.isEmpty)
  }

  #if os(Linux)
  @Test func `A value that is too large for a command is refused with advice`() async throws {
    let value = String(repeating: "x", count: 200_000)
    let attempt = attempt(.arguments(["true", value]))
    let error = await #expect(throws: LocalEngineError.self) {
      try await LocalEngine().run(attempt) { _ in }
    }
    #expect(error == .tooLong)
    #expect(error?.description.contains("in files") == true)
  }

  @Test func `What an earlier runner left running is ended before it is run again`() async throws {
    let reports = reports
    let attempt = attempt(
      .shell("echo up; while :; do sleep 0.01 || true; done"),
      grace: .seconds(5)
    )
    let first = LocalEngine()
    let task = Task { try await run(attempt, first) }
    try await until { reports.contains("up") }
    let process = try #require(reports.process)
    let handle = try #require(reports.handle)
    #expect(LocalHandle(handle)?.leader == process)
    #expect(try await LocalEngine().takeUp(attempt, handle: handle) { _ in } == nil)
    #expect(try await task.value.status == .signalled(15))
  }

  @Test func `A number that another process has by now is left alone`() async throws {
    let process = getpid()
    let begin = try #require(ProcessStatus(of: process)?.begin)
    let boot = try #require(LocalHandle(ProcessGroup(leader: process), since: begin)?.boot)
    func group(_ ticks: String, _ boot: String) -> ProcessGroup? {
      LocalHandle("\(process) \(ticks) \(boot)")?.group
    }
    for ticks in ["\(begin)", "\(begin - 1)-\(begin)", "\(begin)-\(begin + 1)"] {
      #expect(group(ticks, boot) == ProcessGroup(leader: process))
      #expect(group(ticks, "another-boot") == nil)
    }
    for ticks in ["1", "\(begin + 1)-\(begin + 2)", "1-\(begin - 1)", "\(begin + 1)-\(begin)"] {
      #expect(group(ticks, boot) == nil)
    }
    let odd = ["1 2 3", "nonsense", "7 - b", "7  b", "7 1-2-3 b", "7 -1 b", "7 1- b", "7 1 2 b"]
    for text in odd { #expect(LocalHandle(text) == nil) }
    for text in ["7 1 b", "7 1-2 b"] { #expect(LocalHandle(text)?.text == text) }
  }

  @Test(arguments: 1...20) func `A process began between the ticks of its handle`(
    _: Int
  ) async throws {
    let reports = reports
    let attempt = attempt(.shell("cat /proc/$$/stat"))
    _ = try await run(attempt)
    let handle = try #require(reports.handle.flatMap { LocalHandle($0) })
    let line = try String(contentsOfFile: attempt.logFile, encoding: .utf8)
    let fields = try #require(line.split(separator: ")").last).split(separator: " ")
    let begin = try #require(UInt64(fields[19]))
    #expect(handle.begin.contains(begin))
  }
  #endif
}
