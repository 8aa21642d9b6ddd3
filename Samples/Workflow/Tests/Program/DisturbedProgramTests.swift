import Foundation
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// Runs of the built program that don't go on as they began.
@Suite(.serialized, .timeLimit(.minutes(5))) struct `The workflow that is disturbed` {
  private let place: RunPlace

  init() throws { place = try RunPlace() }

  /// One step that goes on until it is asked to end, or its folder is gone, and one behind it.
  private static let endless = """
    name: endless
    steps:
      - {id: slow, command: "trap 'exit 1' TERM; echo begun; while [ -e w.yml ]; do sleep 0.1 || true; done"}
      - {id: later, command: "true", needs: slow}
    """

  /// Starts a run, and returns when it has printed a text: its endless step has begun.
  private func begin(
    _ file: String = Self.endless,
    until text: String = "begun",
    arguments: [String] = []
  ) throws -> (Process, FileHandle) {
    try place.write(file)
    let process = try place.process(["run", "w.yml"] + arguments)
    let pipe = Pipe()
    process.standardOutput = pipe
    try process.run()
    let output = pipe.fileHandleForReading
    try #require(Self.read(output, until: text))
    return (process, output)
  }

  /// Starts a run, and kills it when it has printed a text.
  private func runAndKill(_ file: String, when text: String) throws {
    let (process, _) = try begin(file, until: text)
    kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
  }

  /// The journal of the only run.
  private func journal() throws -> URL {
    place.url.appending(path: ".workflow/runs/\(try #require(place.runs.first))/journal")
  }

  /// Reads up to a text; false if there is none.
  private static func read(_ handle: FileHandle, until text: String) -> Bool {
    var all = ""
    while !all.contains(text) {
      let data = handle.availableData
      if data.isEmpty { return false }
      all += String(decoding: data, as: UTF8.self)
    }
    return true
  }

  @Test(arguments: [(SIGINT, 130), (SIGTERM, 143), (SIGHUP, 129)] as [(Int32, Int32)])
  func `ends gracefully at a signal, with what shells say of it`(
    signal: Int32,
    status: Int32
  ) throws {
    let (process, output) = try begin()
    kill(process.processIdentifier, signal)
    // `timeout` sends each twice, and a run is not killed for that.
    kill(process.processIdentifier, signal)
    let rest = String(decoding: try output.readToEnd() ?? Data(), as: UTF8.self)
    process.waitUntilExit()
    #expect(process.terminationStatus == status)
    #expect(rest.contains("⊘ endless was cancelled after "))
    #expect(rest.contains("workflow resume \(try #require(place.runs.first))"))
  }

  @Test func `ends at a signal although its output takes nothing more, with all in its folder`()
    throws
  {
    try place.write(
      """
      name: talk
      steps:
        - {id: talk, command: "yes | head -c 1000000; echo > said; while [ -e w.yml ]; do sleep 0.1 || true; done"}
        - {id: later, command: "true", needs: talk}
      """
    )
    let process = try place.process(["run", "w.yml", "--format", "json"])
    let output = Pipe()
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    // More than a pipe takes.
    try wait(until: "the step has said it") { place.has("said") }
    kill(process.processIdentifier, SIGINT)
    try wait(until: "the program has ended") { !process.isRunning }
    #expect(process.terminationStatus == 130)
    withExtendedLifetime(output) {}
    let runs = try place.run("runs").output
    #expect(runs.contains("cancelled") && runs.contains("0 of 2"), "\(runs)")
  }

  @Test func `explains its steps to another process while it runs, and from its folder then`()
    throws
  {
    let (process, output) = try begin()
    #expect(try place.run("explain", "last", "later").output.hasPrefix("later waits for slow\n"))
    #expect(try place.run("explain", "last", "slow").output.hasPrefix("slow has been running for "))
    let runs = try place.run("runs").output
    #expect(runs.contains("  running  0 of 2  "))
    let other = try place.run("resume", "last")
    #expect(other.status == 2)
    #expect(other.errors.contains("is running in another process"))
    // Who was refused took nothing from the one that runs it.
    #expect(try place.run("explain", "last", "later").output.hasPrefix("later waits for slow\n"))
    kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
    _ = try output.readToEnd()
    #expect(
      try place.run("explain", "last", "slow").output
        == "“slow” was executing (attempt 1) when the program ended\n"
    )
    #expect(
      try place.run("explain", "last", "later").output == """
        “later” hadn't begun when the program ended
          needs “slow”, which was executing (attempt 1) when the program ended

        """
    )
    #expect(try place.run("runs").output.contains("  interrupted  0 of 2  "))
  }

  @Test func `ends what a killed program was undoing, and undoes it before the step runs again`()
    throws
  {
    try runAndKill(
      """
      steps:
        - {id: z, command: echo file=made >> "$WORKFLOW_OUTPUT", outputs: [file]}
        - id: a
          needs: z
          command: echo made >> order
          on-rollback: |
            trap 'touch asked; exit 1' TERM
            echo undoing
            while [ ! -e asked ]; do sleep 0.1 || true; done
            echo not ${{ steps.z.file }} >> order
        - {id: b, command: test -e asked, needs: a}
      """,
      when: "│ undoing"
    )
    #expect(try place.read("order") == "made\n")
    #expect(try place.run("resume", "last").status == 0)
    #expect(try place.read("order") == "made\nnot made\nmade\n")
  }

  @Test func `waits for no pipe in the place of a file`() throws {
    try place.write(
      "steps: [{id: a, command: mkfifo \"$WORKFLOW_OUTPUT\", outputs: [v]}]"
    )
    let end = try place.run("run", "w.yml")
    #expect(end.status == 1)
    #expect(end.output.contains("it is a pipe, a device or a folder, and not a file"))
    let journal = ".workflow/runs/\(try #require(place.runs.last))/journal"
    let path = place.url.appending(path: journal).path(percentEncoded: false)
    try FileManager.default.removeItem(atPath: path)
    mkfifo(path, 0o600)
    let resumed = try place.run("resume", "last")
    #expect(resumed.status == 2)
    #expect(resumed.errors.contains("it is a pipe, a device or a folder, and not a file"))
  }

  @Test func `writes its logs and events to no pipe, and reads none`() throws {
    try place.write("steps: [{id: a, command: test -e ok}]")
    #expect(try place.run("run", "w.yml").status == 1)
    try place.write("", to: "ok")
    let folder = ".workflow/runs/\(try #require(place.runs.last))"
    for name in ["logs/a.log", "events.jsonl"] {
      let path = place.url.appending(path: "\(folder)/\(name)").path(percentEncoded: false)
      try FileManager.default.removeItem(atPath: path)
      mkfifo(path, 0o600)
    }
    let resumed = try place.run("resume", "last")
    #expect(resumed.status == 1)
    #expect(
      resumed.output.contains(
        "logs/a.log can't be written: it is a pipe, a device or a folder, and not a file"
      )
    )
    #expect(try place.run("explain", "last", "a").status == 0)
    #expect(try place.run("runs").status == 0)
  }

  @Test func `the program says why a step in a current run has no log`() throws {
    let (process, output) = try begin()
    let errors = try place.run("log", "last", "later").errors
    #expect(errors.hasPrefix("workflow: there is no log. later waits for slow\n"), "\(errors)")
    kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
    _ = try output.readToEnd()
  }

  @Test func `undoes nothing that it can't write down as undone`() throws {
    let steps = (1...60).map { number in
      let needs = number == 1 ? "" : ", needs: s\(number - 1)"
      return
        "  - {id: s\(number), command: touch made\(number), on-rollback: rm made\(number)\(needs)}"
    }
    try place.write("steps:\n\(steps.joined(separator: "\n"))\n")
    let limited = Process()
    limited.executableURL = URL(filePath: "/bin/sh")
    // In blocks of 512 bytes: the journal gets too large, the copy of the file doesn't.
    let program = try RunPlace.program.path(percentEncoded: false)
    limited.arguments = ["-c", "trap '' XFSZ; ulimit -f 24; exec \(program) run w.yml --quiet"]
    limited.currentDirectoryURL = place.url
    limited.standardOutput = FileHandle.nullDevice
    limited.standardError = FileHandle.nullDevice
    try limited.run()
    limited.waitUntilExit()
    #expect(limited.terminationStatus != 0)
    #expect(place.has("made30") && !place.has("made60"))
    #expect(try place.run("resume", "last").status == 0)
    #expect((1...60).filter { !place.has("made\($0)") } == [])
  }

  @Test(arguments: [
    ("ulimit -n 60", "--jobs 30", 64, "30 commands at a time need 152 open files"),
    ("ulimit -n 60", "--jobs 30", 64, "“ulimit -n 152”, or give --jobs 7"),
    ("ulimit -n 60", "--jobs 7", 0, ""),
    ("ulimit -n 24", "--jobs 1", 64, "a command needs 36 open files, and the system allows 24"),
    ("ulimit -S -n 24", "--jobs 30", 0, ""),
  ])
  func `says what it needs of open files before anything runs, and raises a limit that it may`(
    _ limit: String,
    _ jobs: String,
    _ status: Int32,
    _ text: String
  ) throws {
    let steps = (1...40).map { "  - {id: s\($0), command: touch made\($0)}\n" }
    try place.write("steps:\n\(steps.joined())")
    let limited = Process()
    limited.executableURL = URL(filePath: "/bin/sh")
    let program = try RunPlace.program.path(percentEncoded: false)
    limited.arguments = ["-c", "\(limit); exec \(program) run w.yml --quiet \(jobs) 2>said"]
    limited.currentDirectoryURL = place.url
    limited.standardOutput = FileHandle.nullDevice
    try limited.run()
    limited.waitUntilExit()
    #expect(limited.terminationStatus == status)
    let said = try String(contentsOf: place.url.appending(path: "said"), encoding: .utf8)
    #expect(said.contains(text) || text.isEmpty, "\(said)")
    #expect((1...40).count { place.has("made\($0)") } == (status == 0 ? 40 : 0))
  }

  @Test func `ends what a killed program has left before others get what that claims`() throws {
    try runAndKill(
      """
      steps:
        - id: one
          exclusive: database
          command: |
            [ ! -e go ] || exit 0
            trap 'sleep 0.3; echo one ended >> order; exit 1' TERM
            echo begun
            while [ -e w.yml ]; do sleep 0.1 || true; done
        - {id: two, exclusive: database, command: echo two began >> order}
      """,
      when: "│ begun"
    )
    // Which of the two has the claim first is not fixed.
    let isSecond = place.has("order")
    try Data().write(to: place.url.appending(path: "go"))
    #expect(try place.run("resume", "last").status == 0)
    let expected = isSecond ? "two began\none ended\n" : "one ended\ntwo began\n"
    #expect(try place.read("order") == expected)
  }

  @Test(arguments: [false, true])
  func `a resume doesn't start from the beginning if the journal is lost`(isEmpty: Bool) throws {
    try place.write("steps: [{id: a, command: echo >> begins}]")
    #expect(try place.run("run", "w.yml").status == 0)
    let journal = try journal()
    if isEmpty {
      try Data().write(to: journal)
    } else {
      try FileManager.default.removeItem(at: journal)
    }
    let resumed = try place.run("resume", "last")
    #expect(resumed.status == 2)
    let problem = isEmpty ? "has no whole line" : "is gone"
    #expect(resumed.errors.contains("journal \(problem), so what"))
    #expect(try place.read("begins") == "\n")
  }

  @Test func `says that its journal is damaged, and not that the file was changed`() throws {
    try place.write("steps: [{id: a, command: \"false\"}]")
    #expect(try place.run("run", "w.yml").status == 1)
    let journal = try journal()
    try Data("nonsense\n".utf8).write(to: journal)
    let damaged = try place.run("resume", "last")
    #expect(damaged.status == 2)
    #expect(damaged.errors.contains("damaged"))
    #expect(!damaged.errors.contains("was changed"))
  }

  @Test func `a run continues if no process reads its output, and says so`() throws {
    try place.write(
      """
      steps:
        - {id: a, command: "i=0; while [ $i -lt 200 ]; do echo line $i; i=$((i + 1)); done"}
        - {id: b, command: "echo b > done", needs: a}
      """
    )
    let process = try place.process(["run", "w.yml"])
    let (output, errors) = (Pipe(), Pipe())
    process.standardOutput = output
    process.standardError = errors
    try output.fileHandleForReading.close()
    try process.run()
    let text = String(
      decoding: try errors.fileHandleForReading.readToEnd() ?? Data(),
      as: UTF8.self
    )
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
    #expect(
      text == "workflow: no program reads the output any more; the run continues, and its folder "
        + "keeps all\n"
    )
    #expect(place.has("done"))
  }

  @Test func `writes nothing into its files when it was started without output`() throws {
    try place.write("steps: [{id: a, command: echo hello}]")
    let shell = Process()
    shell.executableURL = URL(filePath: "/bin/sh")
    shell.arguments = ["-c", "exec \"$0\" run w.yml >&- 2>&-", try RunPlace.program.path()]
    shell.currentDirectoryURL = place.url
    try shell.run()
    shell.waitUntilExit()
    #expect(shell.terminationStatus == 0)
    let runs = try place.run("runs")
    #expect(runs.output.contains("  succeeded  1 of 1  "))
    #expect(try place.run("log", "last", "a").output == "hello\n")
  }

  @Test func `shows a log while it grows, until its step ends`() throws {
    let (process, output) = try begin()
    let follower = try place.process(["log", "last", "slow", "--follow"])
    let pipe = Pipe()
    follower.standardOutput = pipe
    try follower.run()
    try #require(Self.read(pipe.fileHandleForReading, until: "begun\n"))
    kill(process.processIdentifier, SIGTERM)
    _ = try output.readToEnd()
    process.waitUntilExit()
    follower.waitUntilExit()
    #expect(follower.terminationStatus == 0)
  }

  @Test func `answers from a folder whose path is too long for a socket`() throws {
    let folder = String(repeating: "a-long-name/", count: 12)
    try FileManager.default.createDirectory(
      atPath: place.path(folder),
      withIntermediateDirectories: true
    )
    let (process, output) = try begin(arguments: ["--runs-folder", "\(folder)runs"])
    let end = try place.run("explain", "last", "later", "--runs-folder", "\(folder)runs")
    #expect(end.output.hasPrefix("later waits for slow\n"))
    kill(process.processIdentifier, SIGTERM)
    let rest = String(decoding: try output.readToEnd() ?? Data(), as: UTF8.self)
    process.waitUntilExit()
    #expect(rest.contains("-endless --runs-folder \(folder)runs  # "))
  }

  @Test func `the program says that the run's folder is missing`() throws {
    try place.write(
      """
      name: gone
      steps:
        - {id: tidy, command: "rm -rf .workflow"}
        - {id: later, command: "true", needs: tidy}
      """
    )
    let end = try place.run("run", "w.yml")
    #expect(end.status == 1)
    let reason = "the folder of the run is gone, so that nothing of it can be recorded or resumed"
    #expect(end.output.contains(reason))
    #expect(!end.output.contains("No such file"))
    #expect(!end.output.contains("workflow resume"))
  }
}
