import Foundation
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// What the built program makes of runs that were cut short, moved, or left without room.
@Suite(.serialized, .timeLimit(.minutes(5))) struct `The workflow that is cut short` {
  private let place: RunPlace

  init() throws { place = try RunPlace() }

  /// Starts a run of a file, and returns when it has printed something.
  private func begin(
    _ text: String,
    until words: String,
    _ arguments: [String] = []
  ) throws -> RunningProgram {
    try place.write(text)
    let program = try RunningProgram(try place.process(["run", "w.yml"] + arguments))
    try #require(program.read(until: words))
    return program
  }

  private var run: String {
    get throws { ".workflow/runs/\(try #require(place.runs.last))" }
  }

  @Test func `says which steps a second signal has left as they are`() throws {
    let program = try begin(
      """
      steps:
        - {id: a, command: "true", on-rollback: rm w.yml}
        - {id: b, command: "true", on-rollback: rm w.yml, needs: a}
        - {id: c, needs: b, command: "trap '' TERM; echo begun; while [ -e w.yml ]; do sleep 0.1 || true; done"}
      """,
      until: "│ begun"
    )
    // What comes soon after the first counts as the same; none ends it but with its own status.
    try wait(until: "the program has ended") {
      kill(program.process.processIdentifier, SIGINT)
      return !program.process.isRunning
    }
    let rest = program.rest()
    #expect(program.process.terminationStatus == 130)
    #expect(rest.contains("b, a were not undone, because the run was killed: “workflow resume”"))
    #expect(place.has("w.yml"))
  }

  @Test func `knows how it ended before that is read, and leaves the rest at a signal`() throws {
    try place.write(
      "steps: [{id: flood, command: seq 300000}, {id: b, command: 'true', needs: flood}]"
    )
    let program = try RunningProgram(try place.process(["run", "w.yml"]))
    // Nobody reads what it prints.
    try wait(until: "there is a run") { (try? place.runs)?.isEmpty == false }
    let journal = "\(try run)/journal"
    try wait(until: "the journal has the end") {
      (try? place.read(journal))?.contains("runEnded") == true
    }
    let explanation = try place.run("explain", "last", "flood").output
    #expect(explanation.hasPrefix("flood succeeded, after "), "\(explanation)")
    kill(program.process.processIdentifier, SIGINT)
    let lines = program.all().split(separator: "\n")
    #expect(program.process.terminationStatus == 0)
    #expect(lines.contains("flood │ 1"))
    #expect(!lines.contains("flood │ 300000"))
    #expect(
      lines.contains { line in
        line.hasPrefix("⚠ flood  ")
          && line.hasSuffix("/flood.log are not shown: the run was to end immediately")
      },
      "\(lines.suffix(5))"
    )
    #expect(lines.last?.contains("w succeeded after ") == true)
    #expect(try place.run("log", "last", "flood").output.hasSuffix("\n300000\n"))
  }

  @Test func `leaves no processes at SIGQUIT`() throws {
    let program = try begin(
      "steps: [{id: a, command: \"trap '' TERM; echo pid $$; while [ -e w.yml ]; do sleep 0.1 || true; done\"}]",
      until: "│ pid "
    )
    kill(program.process.processIdentifier, SIGQUIT)
    let text = program.all()
    #expect(program.process.terminationStatus == 131)
    let number = text.components(separatedBy: "│ pid ").last?.prefix { $0.isNumber } ?? ""
    let pid = try #require(Int32(number))
    try wait(until: "the step’s process is gone") { !ProcessState.isAlive(pid) }
  }

  @Test func `keeps the choice of steps, and says which were not chosen`() throws {
    try place.write("steps: [{id: a, command: \"true\"}, {id: b, command: touch b}]")
    #expect(try place.run("run", "w.yml", "--only", "a").status == 0)
    #expect(
      try place.run("explain", "last", "b").output
        == "“b” was not chosen: the run is one with --only a\n"
    )
    #expect(try place.run("log", "last", "b").errors.contains("was not chosen"))
    #expect(try place.run("resume", "last").output.contains("✓ w succeeded"))
    #expect(!place.has("b"))
    #expect(try place.run("resume", "last", "--all", "--only", "b").status == 64)
    #expect(try place.run("resume", "last", "--all").status == 0)
    #expect(place.has("b"))
    // From then on all are chosen.
    #expect(try place.run("resume", "last").output.contains(": 2 succeeded\n"))
  }

  @Test func `says of a step that waited for its next attempt that it did`() throws {
    let program = try begin(
      "steps: [{id: a, command: \"false\", retry: {attempts: 3, delay: 1h}}]",
      until: "again in 1 h"
    )
    kill(program.process.processIdentifier, SIGKILL)
    _ = program.all()
    #expect(
      try place.run("explain", "last", "a").output.hasPrefix(
        "“a” waited for attempt 2 when the program ended\n  attempt 1: exited with 1;"
      )
    )
  }

  @Test func `ends with 1 where it followed a step whose runner was killed`() throws {
    let program = try begin(
      "steps: [{id: a, command: \"echo begun; while [ -e w.yml ]; do sleep 0.1 || true; done\"}]",
      until: "│ begun"
    )
    let errors = Pipe()
    let log = try place.process(["log", "last", "a", "-f"])
    log.standardError = errors
    let follower = try RunningProgram(log)
    try #require(follower.read(until: "begun"))
    kill(program.process.processIdentifier, SIGKILL)
    program.process.waitUntilExit()
    let text = try errors.text()
    _ = follower.all()
    #expect(follower.process.terminationStatus == 1)
    #expect(text.contains("the program that ran “a” has ended, and the step hadn't"))
  }

  @Test func `the program says that it waits for a process that doesn't end on request`() throws {
    let program = try begin(
      """
      steps:
        - id: a
          command: |
            [ ! -e go ] || exit 0
            trap 'echo asked >> asked' TERM
            echo begun
            while [ -e w.yml ]; do sleep 0.1 || true; done
      """,
      until: "│ begun"
    )
    kill(program.process.processIdentifier, SIGKILL)
    program.process.waitUntilExit()
    try place.write("", to: "go")
    let resumed = try place.run("resume", "last", "--grace-period", "300ms")
    #expect(resumed.status == 0)
    #expect(resumed.output.contains("… a waits for an earlier run's process "))
    #expect(place.has("asked"))
  }

  @Test func `explains steps while it waits for an earlier run's process`() throws {
    let program = try begin(
      """
      steps:
        - id: a
          command: |
            [ ! -e go ] || exit 0
            trap '' TERM
            echo begun
            while [ ! -e end ]; do sleep 0.1 || true; done
        - {id: b, command: "true", needs: a}
      """,
      until: "│ begun"
    )
    kill(program.process.processIdentifier, SIGKILL)
    program.process.waitUntilExit()
    try place.write("", to: "go")
    let resumed = try RunningProgram(try place.process(["resume", "last"]))
    try #require(resumed.read(until: "… a waits for an earlier run's process "))
    let first = try place.run("explain", "last", "a").output
    #expect(first.hasPrefix("a waits for an earlier run's process "))
    #expect(first.hasSuffix(", which was asked to end\n"))
    #expect(try place.run("explain", "last", "b").output == "b waits for a\n  \(first)")
    try place.write("", to: "end")
    _ = resumed.all()
    #expect(resumed.process.terminationStatus == 0)
    #expect(try place.run("explain", "last", "b").output.hasPrefix("“b” succeeded"))
  }

  @Test func `takes the lock before it takes a changed file over`() throws {
    let command = "echo begun; while [ -e w.yml ]; do sleep 0.1 || true; done"
    let before = "steps: [{id: a, command: \"\(command)\"}]\n"
    let program = try begin(before, until: "│ begun")
    try place.write("steps: [{id: a, command: \"true\"}]\n")
    let other = try place.run("resume", "last", "--accept-changes")
    #expect(other.status == 2)
    #expect(other.errors.contains("is running in another process"))
    #expect(try place.read("\(run)/workflow.yml") == before)
    kill(program.process.processIdentifier, SIGKILL)
    program.process.waitUntilExit()
    #expect(try place.run("resume", "last", "--accept-changes").status == 0)
    #expect(try place.read("\(run)/workflow.yml") == "steps: [{id: a, command: \"true\"}]\n")
  }

  @Test func `runs a finished step again that has to give more, and says so`() throws {
    try place.write(
      "steps: [{id: a, command: echo a >> ran}, {id: b, command: \"false\", needs: a}]"
    )
    #expect(try place.run("run", "w.yml").status == 1)
    try place.write(
      """
      steps:
        - {id: a, command: "echo a >> ran; echo v=7 >> $WORKFLOW_OUTPUT", outputs: [v]}
        - {id: b, command: "test ${{ steps.a.v }} = 7", needs: a}
      """
    )
    let end = try place.run("resume", "last", "--accept-changes")
    #expect(end.status == 0, "\(end)")
    #expect(end.errors.contains("\n  step ‘a’ runs again, to give ‘v’\n"))
    #expect(try place.read("ran") == "a\na\n")
  }

  @Test func `a resume continues with the file next to the copied folder`() throws {
    let names = ["one", "two"]
    try FileManager.default.createDirectory(
      atPath: place.path("one"),
      withIntermediateDirectories: true
    )
    try place.write("steps: [{id: a, command: test -e go}]", to: "one/w.yml")
    #expect(try place.run("run", "one/w.yml").status == 1)
    try FileManager.default.copyItem(atPath: place.path("one"), toPath: place.path("two"))
    try place.write("steps: [{id: a, command: touch here}]", to: "two/w.yml")
    let runs = names.map { "\($0)/.workflow/runs" }
    let end = try place.run("resume", "last", "--accept-changes", "--runs-folder", runs[1])
    #expect(end.status == 0, "\(end)")
    #expect(names.map { place.has("\($0)/here") } == [false, true])
  }

  #if os(Linux)
  /// Runs a file on a disk of a few kilobytes, and goes on with the run when there is room again.
  private func runOnFullDisk(
    _ text: String,
    before: String = "true",
    after: String = "true"
  ) throws -> ProgramEnd? {
    try place.write(text)
    try FileManager.default.createDirectory(
      atPath: place.path("small"),
      withIntermediateDirectories: true
    )
    let process = try place.process([])
    let program = try RunPlace.program.path()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = [
      "unshare", "-rm", "sh", "-c",
      "mount -t tmpfs -o size=256k none small || exit 99; cp w.yml small && cd small && "
        + "{ \(before); \(program) run w.yml; status=$?; \(after); exit $status; }",
    ]
    let pipe = Pipe()
    process.standardError = pipe
    let running = try RunningProgram(process)
    let output = running.all()
    let errors = try pipe.text()
    let isRefused = [99, 127].contains(process.terminationStatus) || errors.hasPrefix("unshare:")
    if isRefused {
      print("SKIPPED: no file system can be mounted here")
      return nil
    }
    return ProgramEnd(status: process.terminationStatus, output: output, errors: errors)
  }

  @Test(arguments: ["exit 0", "exit 1"])
  func `names a full disk as the cause of a step's failure`(exit: String) throws {
    // One that succeeds has not found room for what it gives.
    let end = try runOnFullDisk(
      """
      steps:
        - id: a
          command: "head -c 1000000 /dev/zero > big; echo v=1 > $WORKFLOW_OUTPUT; \(exit)"
          outputs: [v]
      """
    )
    guard let end else { return }
    #expect(end.status == 1)
    #expect(end.output.contains("; the disk is full that has /"), "\(end)")
  }

  @Test func `a run says once per step that a full disk may have cut its log`() throws {
    // Commands may take no notice of it.
    let lost = "head -c 1000000 /dev/zero > big || true; seq 100000 || true"
    let end = try runOnFullDisk(
      """
      steps:
        - {id: a, command: "echo begun; \(lost)"}
        - {id: b, command: "rm big", needs: a}
        - {id: c, command: "echo room", needs: b}
      """
    )
    guard let end else { return }
    #expect(end.status == 0, "\(end)")
    let lines = end.output.split(separator: "\n")
    let words = "its log may be incomplete, because the disk was full that has /"
    let notices = lines.filter { $0.hasPrefix("⚠ a  \(words)") }
    #expect(notices.count == 1, "\(end)")
    // At the end too, where it is read.
    #expect(lines.last?.hasPrefix("  b: ") == true || lines.last?.hasPrefix("  a: ") == true)
    #expect(lines.contains { $0.hasPrefix("  a: \(words)") })
    #expect(!end.output.contains("c: its log"))
    #expect(lines.contains("c │ room"))
    // What the file of events had no room for is written when there is some.
    #expect(!end.output.contains("isn't complete"))
  }

  @Test func `a run whose journal can't be written on a full disk continues later`() throws {
    let end = try runOnFullDisk(
      """
      steps:
        - {id: a, command: "head -c 1000000 /dev/zero > big || true"}
        - id: b
          needs: a
          command: "true"
          matrix: {x: [1, 2, 3, 4, 5, 6, 7, 8], y: [1, 2, 3, 4, 5, 6, 7, 8]}
      """,
      after: "rm big; \(try RunPlace.program.path()) resume last"
    )
    guard let end else { return }
    #expect(end.status == 1)
    let sentence = "/journal can't be written: the disk is full. When there is room"
    #expect(end.errors.contains(sentence))
    // At the step whose end it was about, and not at each one that is cancelled because of it.
    #expect(end.output.components(separatedBy: sentence).count <= 2, "\(end)")
    #expect(end.output.contains("✓ w succeeded"), "\(end)")
  }

  @Test func `leaves no run that couldn't begin on a full disk`() throws {
    let end = try runOnFullDisk(
      "steps: [{id: a, command: \"true\"}]",
      before: "head -c 1000000 /dev/zero > big",
      after: "ls .workflow/runs"
    )
    guard let end else { return }
    #expect(end.status == 2)
    #expect(end.errors.contains("/workflow.yml: the disk is full"), "\(end)")
    #expect(end.output == "")
  }
  #endif
}

/// A program that was started, and what it has printed.
final class RunningProgram {
  let process: Process
  private let output: FileHandle
  private var text = ""

  init(_ process: Process) throws {
    self.process = process
    let pipe = Pipe()
    process.standardOutput = pipe
    try process.run()
    output = pipe.fileHandleForReading
  }

  /// Reads up to a text; false if there is none.
  func read(until words: String) -> Bool {
    while !text.contains(words) {
      let data = output.availableData
      if data.isEmpty { return false }
      text += String(decoding: data, as: UTF8.self)
    }
    return true
  }

  /// What it prints from now on, up to its end.
  func rest() -> String {
    let data = (try? output.readToEnd()) ?? Data()
    process.waitUntilExit()
    return String(decoding: data, as: UTF8.self)
  }

  /// All that it has printed, when it has ended.
  func all() -> String {
    text += rest()
    return text
  }
}

extension Pipe {
  /// All that is written to it.
  fileprivate func text() throws -> String {
    String(decoding: try fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
  }
}
