import Foundation
import Testing
import WorkflowRunner

/// Runs of the built program, as people run it.
@Suite(.serialized, .timeLimit(.minutes(5))) struct `The program` {
  private let place: RunPlace

  init() throws { place = try RunPlace() }

  private static let failing = """
    name: failing
    steps:
      - {id: a, command: "echo working; echo oops >&2; exit 3"}
      - {id: b, command: "true", needs: a}
      - {id: c, command: "true", needs: b}
    """

  @Test(arguments: [
    ["check", "/dev/stdin"], ["run", "/dev/stdin"], ["run", "--dry-run", "/dev/stdin"],
  ])
  func `reads a workflow from a pipe`(arguments: [String]) throws {
    let process = try place.process(arguments)
    let (input, output) = (Pipe(), Pipe())
    process.standardInput = input
    process.standardOutput = output
    try process.run()
    try input.fileHandleForWriting.write(
      contentsOf: Data("name: piped\nsteps: [{id: a, command: 'pwd'}]\n".utf8)
    )
    try input.fileHandleForWriting.close()
    let text = String(
      decoding: try output.fileHandleForReading.readToEnd() ?? Data(),
      as: UTF8.self
    )
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
    #expect(text.contains("piped"))
    // The run is kept, and runs, in this folder.
    #expect(place.has(".workflow/runs") == (arguments == ["run", "/dev/stdin"]))
  }

  @Test func `runs its example, and does nothing twice`() throws {
    try place.write(try RunPlace.example("release.yml"), to: "release.yml")
    let first = try place.run("run", "release.yml")
    #expect(first.status == 0, "\(first)")
    #expect(first.errors == "")
    #expect(first.output.contains("↻ integration  attempt 1: exited with 1; again in "))
    #expect(first.output.contains("\n✓ integration  "))
    #expect(first.output.contains("\n↷ apology  skipped"))
    #expect(first.output.contains("\n✓ release succeeded after "))
    #expect(try place.read("published/hello-1.4.2").hasPrefix("hello 1.4.2\n#!/bin/sh\n"))
    #expect(Int(try place.read("published/hello-1.4.2.sum").dropLast()) != nil)
    #expect(place.has(".workflow/runs"))
    // What is built isn't built again, and the rest of a new run is.
    let second = try place.run("run", "release.yml")
    #expect(second.output.contains("\n↷ build  skipped"))
    #expect(second.output.contains("10 succeeded, 2 skipped"))
    // A run that is done has nothing to go on with.
    let resumed = try place.run("resume", "last")
    #expect(resumed.status == 0)
    #expect(!resumed.output.contains("▸"))
  }

  @Test func `checks all examples`() throws {
    for name in ["release.yml", "hello.yml", "ci.yml", "film.yml", "nightly-backup.yml"] {
      try place.write(try RunPlace.example(name), to: name)
    }
    let end = try place.run(
      "check",
      "ci.yml",
      "film.yml",
      "hello.yml",
      "nightly-backup.yml",
      "release.yml"
    )
    #expect(end.status == 0, "\(end.errors)")
    let lines = end.output.split(separator: "\n")
    #expect(lines.count { $0.hasSuffix(", no mistakes") } == 5)
    #expect(
      lines.count { $0.hasPrefix("  scripts of ") && $0.contains("run with ‘/bin/sh -eu") } == 5
    )
    #expect(end.output.contains("release.yml: release, 12 steps, no mistakes\n"))
  }

  @Test func `check shows the shells of scripts`() throws {
    let steps = """
      steps:
        - {id: list, command: [x], when: {exists: "*.yml"}}
        - {id: own, command: x, shell: [python3, -c]}
        - {id: b, command: x, shell: bash, matrix: {n: [1, 2]}}
        - {id: c, command: x, shell: bash}
      """
    try place.write(steps)
    let end = try place.run("check", "w.yml")
    #expect(
      end.output == """
        w.yml: w, 5 steps, no mistakes
          scripts of 1 step run with ‘python3 -c’
          scripts of 2 steps run with ‘bash -eu -o pipefail -c’

        """
    )
    let warning = "w.yml:2: warning: ‘list’ looks for a file with ‘*’ in its name, ‘*.yml’: "
    #expect(end.errors.hasPrefix(warning))
  }

  @Test func `a backup that could not be packed whole fails`() throws {
    let text = try RunPlace.example("nightly-backup.yml")
    let retry = try #require(text.split(separator: "\n").first { $0.contains("retry:") })
    try place.write(text.replacing(retry, with: ""), to: "backup.yml")
    for folder in ["bin", "data", "backup"] {
      try FileManager.default.createDirectory(
        atPath: place.path(folder),
        withIntermediateDirectories: true
      )
    }
    // As tar does with a file that it may not read.
    try place.write("#!/bin/sh\necho part >\"$2\"\nexit 2\n", to: "bin/tar")
    try FileManager.default.setAttributes(
      [.posixPermissions: 0o755],
      ofItemAtPath: place.path("bin/tar")
    )
    let path = "\(place.path("bin")):/usr/bin:/bin"
    let environment = ["FROM": "data", "TO": "backup", "PATH": path]
    let end = try place.run("run", "backup.yml", environment: environment)
    #expect(end.status == 1)
    #expect(end.output.contains("pack: exited with 2"), "\(end)")
    let files = try FileManager.default.contentsOfDirectory(atPath: place.path("backup"))
    #expect(files.allSatisfy { $0.hasSuffix(".part") }, "\(files)")
  }

  #if os(Linux)
  @Test func `steps have the niceness of the program`() throws {
    try place.write("steps: [{id: a, command: nice}]\n")
    let process = try place.process(["-n", "7", try RunPlace.program.path(), "run", "w.yml"])
    process.executableURL = URL(filePath: "/usr/bin/nice")
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let bytes = try output.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    let nice = getpriority(.init(0), 0) + 7
    #expect(String(decoding: bytes, as: UTF8.self).contains("\na │ \(min(nice, 19))\n"))
  }
  #endif

  @Test func `the seven newest backups stay`() throws {
    try place.write(try RunPlace.example("nightly-backup.yml"), to: "backup.yml")
    for folder in ["data", "backup"] {
      try FileManager.default.createDirectory(
        atPath: place.path(folder),
        withIntermediateDirectories: true
      )
    }
    for day in 11...19 {
      try place.write("", to: "backup/2026-10-\(day)-010000-nightly-backup.tar.gz")
    }
    let environment = ["FROM": "data", "TO": "backup"]
    let end = try place.run("run", "backup.yml", environment: environment)
    #expect(end.status == 0, "\(end)")
    let files = try FileManager.default.contentsOfDirectory(atPath: place.path("backup")).sorted()
    let old = (14...19).map { "2026-10-\($0)-010000-nightly-backup.tar.gz" }
    #expect(Array(files.prefix(6)) == old)
    #expect(files.count == 7)
  }

  @Test func `ends with 1 when a step fails, and says what to do`() throws {
    try place.write(Self.failing)
    let end = try place.run("run", "w.yml")
    #expect(end.status == 1)
    let summary = end.output.components(separatedBy: "\n✗ failing failed after ").last ?? ""
    let lines = summary.split(separator: "\n", omittingEmptySubsequences: false).dropFirst()
    let name = try #require(place.runs.first)
    #expect(
      lines.joined(separator: "\n") == """

          a: exited with 3
          2 steps were not run

        “a” said last:
          │ working
          │ oops
          in .workflow/runs/\(name)/logs/a.log

        next:
          workflow resume \(name)     # run what isn't done
          workflow log \(name) a      # all that it printed
          workflow explain \(name) a  # why it failed

        """
    )
    #expect(try place.run("log", "last", "a").output == "working\noops\n")
    #expect(
      try place.run("explain", "last", "c").output == """
        “c” was not run, because ‘a’ failed
          needs “b”, which was not run, because ‘a’ failed
            needs “a”, which failed: exited with 3

        """
    )
    let runs = try place.run("runs").output.split(separator: "\n")
    #expect(runs.count == 2)
    #expect(runs.last?.hasPrefix("\(name)  failing   failed  0 of 3  20") == true)
    let log = try place.run("log", "last", "c")
    #expect(log.status == 1)
    #expect(log.errors.hasPrefix("workflow: there is no log. “c” was not run, because ‘a’ failed"))
  }

  @Test func `a resume continues a run, and refuses a changed file unless accepted`()
    throws
  {
    try place.write(
      """
      name: x
      steps:
        - {id: a, command: "echo a >> done"}
        - {id: b, command: "test -e ready && echo b >> done", needs: a}
      """
    )
    #expect(try place.run("run", "w.yml").status == 1)
    let text = try place.read("w.yml")
    try place.write(text.replacing("echo b", with: "echo B"))
    let refused = try place.run("resume", "last")
    #expect(refused.status == 2)
    #expect(refused.errors.contains("was changed since "))
    #expect(refused.errors.contains("step ‘b’"))
    #expect(refused.errors.contains("--accept-changes"))
    try place.write("", to: "ready")
    let end = try place.run("resume", "last", "--accept-changes")
    #expect(end.status == 0, "\(end)")
    #expect(end.output.contains("↷ 1 step was done before\n"))
    #expect(try place.read("done") == "a\nB\n")
    // Now it is the file that the run has.
    #expect(try place.run("resume", "last").status == 0)
  }

  @Test func `a resume continues with a file without a name, and with a missing file`() throws {
    try place.write("steps: [{id: a, command: test -e ready}]", to: "nameless.yml")
    #expect(try place.run("run", "nameless.yml").status == 1)
    let second = try place.run("resume", "last")
    #expect(second.status == 1)
    #expect(second.errors == "")
    try FileManager.default.removeItem(atPath: place.path("nameless.yml"))
    try place.write("", to: "ready")
    let third = try place.run("resume", "last")
    #expect(third.status == 0, "\(third)")
    #expect(third.output.contains("✓ nameless succeeded"))
  }

  @Test func `writes events as lines of JSON, and nothing else`() throws {
    try place.write(Self.failing)
    let end = try place.run("run", "w.yml", "--format", "json", "--keep-going")
    #expect(end.status == 1)
    #expect(end.errors == "")
    let events = try end.output.split(separator: "\n").map { line in
      try JSONDecoder().decode(RunEvent.self, from: Data(line.utf8))
    }
    guard case .runStarted(_, "failing", 3, false) = events.first?.kind else {
      Issue.record("It begins with \(String(describing: events.first)).")
      return
    }
    guard case .runEnded(let last) = events.last?.kind else {
      Issue.record("It ends with \(String(describing: events.last)).")
      return
    }
    #expect((last.succeeded, last.failed, last.cancelled) == (0, 1, 2))
    #expect(events.contains { $0.kind == .printed(step: "a", line: "oops") })
  }

  @Test func `draws timelines and graphs`() throws {
    try place.write(try RunPlace.example("hello.yml"), to: "hello.yml")
    let end = try place.run("run", "hello.yml", "--timeline", "t.svg", "--graph", "g.svg", "-q")
    #expect(end.status == 0, "\(end)")
    #expect(end.output.hasPrefix("✓ hello succeeded after "))
    #expect(try place.read("t.svg").contains("kettle"))
    #expect(try place.read("g.svg").hasPrefix("<svg "))
    #expect(try place.run("run", "hello.yml", "--dry-run", "--graph", "g.dot").status == 0)
    #expect(try place.read("g.dot").contains("digraph"))
    try place.write("steps: [{id: a, command: rm -r gone}]", to: "gone.yml")
    try FileManager.default.createDirectory(
      atPath: place.path("gone"),
      withIntermediateDirectories: false
    )
    let wrong = try place.run("run", "gone.yml", "-q", "--timeline", "gone/t.svg")
    #expect(wrong.status == 1)
    #expect(wrong.errors == "workflow: gone/t.svg can't be written: there is no such folder\n")
  }

  @Test func `gives steps variables as they are, whatever their bytes`() throws {
    try place.write(
      """
      env: {OWN: ä}
      steps:
        - {id: a, command: "printf %s \\"$ODD,$OWN,$PLAIN\\" | od -An -tx1 > bytes"}
        - {id: b, command: "printf %s \\"$ODD\\" > text", env: {ODD: given}}
      """
    )
    let shell = Process()
    shell.executableURL = URL(filePath: "/bin/sh")
    shell.currentDirectoryURL = place.url
    shell.arguments = [
      "-c", #"ODD=$(printf 'a\377=b') PLAIN=p exec "$0" run w.yml"#, try RunPlace.program.path(),
    ]
    shell.standardOutput = FileHandle.nullDevice
    try shell.run()
    shell.waitUntilExit()
    #expect(shell.terminationStatus == 0)
    #expect(
      try place.read("bytes").split { $0.isWhitespace }.joined(separator: " ")
        == "61 ff 3d 62 2c c3 a4 2c 70"
    )
    #expect(try place.read("text") == "given")
  }

  @Test func `a run with --only runs the requested steps, and the steps that these need`() throws {
    try place.write(try RunPlace.example("hello.yml"), to: "hello.yml")
    let end = try place.run("run", "hello.yml", "--only", "kettle")
    #expect(end.output.contains("1 succeeded"))
    #expect(!end.output.contains("cup"))
  }

  @Test func `imports a recorded workflow, and says how long it would take`() throws {
    try place.write(
      """
      {"name": "two", "workflow": {"tasks": [
        {"name": "a", "runtime": 20, "parents": []},
        {"name": "b", "runtime": 10, "parents": ["a"]},
        {"name": "c", "runtime": 10, "parents": ["a"]}
      ]}}
      """,
      to: "two.json"
    )
    let end = try place.run("import", "two.json", "-o", "two.yml", "--scale", "0.1")
    #expect(end.status == 0, "\(end)")
    #expect(end.errors == "two.yml: two, 3 steps\n")
    #expect(
      try place.run("simulate", "two.yml", "--workers", "1,2").output == """
        two: 3 steps, 4.0 s of work (3 as their commands sleep)

        workers  makespan  faster   busy
              1     4.0 s   1.0 ×  100 %
              2     3.0 s   1.3 ×   67 %

        critical path: 3.0 s, no number of workers is faster
                 2.0 s  a
                 1.0 s  b

        """
    )
  }
}
