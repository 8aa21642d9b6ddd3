import Foundation
import Testing
import WorkflowRunner

@testable import workflow

/// What the program says to people who are wrong.
@Suite(.serialized, .timeLimit(.minutes(5))) struct `The program that is used wrongly` {
  private let place: RunPlace

  init() throws {
    place = try RunPlace()
    try place.write(try RunPlace.example("hello.yml"), to: "hello.yml")
    try place.write("steps:\n  - {id: a, comand: x}\n", to: "wrong.yml")
  }

  private func complaint(_ arguments: String...) throws -> (status: Int32, text: String) {
    try complaint(of: place.process(arguments))
  }

  private func complaint(of process: Process) throws -> (status: Int32, text: String) {
    let errors = Pipe()
    process.standardOutput = FileHandle.nullDevice
    process.standardError = errors
    try process.run()
    let data = try errors.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    return (process.terminationStatus, String(decoding: data, as: UTF8.self))
  }

  @Test func `says which file was meant`() throws {
    #expect(
      try complaint("run", "helo.yml")
        == (2, "workflow: there is no file “helo.yml”; did you mean “hello.yml”?\n")
    )
    #expect(
      try complaint("run", "x/y.yml") == (2, "workflow: there is no file “x/y.yml”\n")
    )
    #expect(
      try complaint("run", ".")
        == (2, "workflow: “.” is a folder; give a file in it; there are hello.yml, wrong.yml\n")
    )
  }

  @Test(arguments: ["runs", "resume last", "explain last a", "log last a", "run hello.yml"])
  func `the program says that its working folder is missing`(arguments: String) throws {
    let shell = Process()
    shell.executableURL = URL(filePath: "/bin/sh")
    shell.currentDirectoryURL = place.url
    shell.arguments = [
      "-c", "mkdir gone && cd gone && rmdir ../gone && exec \"$0\" \(arguments)",
      try RunPlace.program.path(),
    ]
    #expect(
      try complaint(of: shell)
        == (
          2,
          "workflow: the folder that you are in can't be used: no such file or directory; change to "
            + "another one, as with “cd ..”\n"
        )
    )
    #expect(RunCatalog.nearest(to: "").path == RunFolder.usualPlace)
  }

  @Test func `destroys no file that it reads, under whatever name`() throws {
    let text = "{\"steps\": [{\"id\": \"a\", \"command\": \"touch ran\"}]}\n"
    try place.write(text, to: "t.json")
    for link in ["link.svg", "link.json"] {
      try FileManager.default.createSymbolicLink(
        at: place.url.appending(path: link),
        withDestinationURL: place.url.appending(path: "t.json")
      )
    }
    #expect(
      try complaint("run", "t.json", "--timeline", "t.json")
        == (64, "workflow: --timeline would overwrite “t.json”: give another file\n")
    )
    let expected = "would overwrite “t.json”, which is “link.svg” too: give another file\n"
    #expect(
      try complaint("run", "t.json", "--graph", "link.svg") == (64, "workflow: --graph \(expected)")
    )
    #expect(
      try complaint("run", "t.json", "--dry-run", "--graph", "link.svg")
        == (64, "workflow: --graph \(expected)")
    )
    #expect(
      try complaint("run", "link.json", "--timeline", "./t.json").text
        .hasPrefix("workflow: --timeline would overwrite “link.json”")
    )
    #expect(
      try complaint("run", "t.json", "--timeline", "a.svg", "--graph", "a.svg")
        == (64, "workflow: --graph and --timeline name the same file, “a.svg”\n")
    )
    try FileManager.default.createDirectory(
      at: place.url.appending(path: "d.svg"),
      withIntermediateDirectories: false
    )
    #expect(
      try complaint("run", "t.json", "--graph", "d.svg")
        == (64, "workflow: --graph needs a file, and “d.svg” is a folder\n")
    )
    #expect(!place.has("ran"))
    #expect(try place.read("t.json") == text)
    #expect(
      try complaint("import", "t.json", "-o", "t.json", "--force")
        == (64, "workflow: --output would overwrite “t.json”: give another file\n")
    )
    #expect(
      try complaint("import", "t.json", "-o", "hello.yml")
        == (64, "workflow: “hello.yml” is there already; --force replaces it\n")
    )
    #expect(try place.read("t.json") == text)
  }

  @Test func `says of a run whose folder can't be made that nothing ran`() throws {
    try place.write("a file", to: ".workflow")
    try place.write("steps: [{id: a, command: touch ran}]")
    let end = try complaint("run", "w.yml")
    #expect(end.status == 2)
    #expect(end.text.contains(".workflow/runs: the folder can't be made: "), "\(end.text)")
    #expect(!place.has("ran"))
  }

  @Test func `tells a journal that fails while steps run from one that lets nothing run`() {
    let error = JournalError.inaccessible(path: "journal", reason: "no room")
    #expect(Complaint(error)?.status == .mistakes)
    #expect(Complaint(error, hasBegun: true)?.status == .failure)
    #expect(Complaint(RunError.isRunning(run: "r"))?.status == .mistakes)
  }

  @Test func `is warned of a value in the program of a second shell, once for a matrix`() throws {
    try place.write(
      """
      steps:
        - id: a
          matrix: {os: [x, y]}
          command: "true"
          on-rollback: sh -c "ls ${{ matrix.os }}"
      """,
      to: "second.yml"
    )
    let expected =
      "second.yml:2: warning: ‘a’ puts a value into a program that ‘sh’ reads, so that "
      + "commands in the value run; give it as an argument or a variable\n"
    #expect(try complaint("check", "second.yml") == (0, expected))
  }

  @Test func `a drawing takes the place of an older one, or leaves it`() throws {
    try place.write("old", to: "a.svg")
    #expect(try place.run("run", "hello.yml", "--dry-run", "--graph", "a.svg").status == 0)
    #expect(try place.read("a.svg").contains("</svg>"))
    #expect(try place.run("run", "hello.yml", "--dry-run", "--graph", "no/a.svg").status == 64)
    // Before anything runs.
    let text = try complaint("run", "hello.yml", "--timeline", "no/a.svg").text
    #expect(text.contains("--timeline “no/a.svg”: there is no folder “no”; make it first"))
    #expect(!place.has(".workflow/runs"))
  }

  @Test func `is told from a command that there isn't, and what there is of numbers`() throws {
    #expect(
      try complaint("rnu", "hello.yml").text
        .hasPrefix("Error: There is no command “rnu”; did you mean “workflow run”?\n")
    )
    #expect(
      try complaint("hello.yml").text
        .hasPrefix("Error: There is no command “hello.yml”; did you mean “workflow run hello.yml”?")
    )
    #expect(
      try complaint("help", "rnu").text
        .hasPrefix("Error: There is no command “rnu”; did you mean “workflow run”?\n")
    )
    #expect(try place.run("help", "run").status == 0)
    #expect(try complaint("run", "hello.yml", "-j", "-1").text.contains("not -1."))
    #expect(try complaint("runs", "--last", "-1").text.contains("not -1."))
    #expect(try complaint("runs", "--runs-folder", "hello.yml").text.contains("is a file"))
    #expect(try complaint("run", "hello.yml", "--dry-run", "--format", "json").status == 64)
  }

  @Test func `the program reports missing Slurm before it creates a run`() throws {
    let process = try place.process(["run", "hello.yml", "--engine", "slurm"])
    process.environment = ["PATH": "/nowhere"]
    let (status, text) = try complaint(of: process)
    #expect(status == 64)
    #expect(text.contains("“srun” is in no folder of PATH"))
    #expect(!place.has(".workflow"))
  }

  @Test func `reads no more than a workflow can have`() throws {
    let (status, text) = try complaint("check", "/dev/zero")
    #expect(status == 2)
    #expect(text.hasPrefix("workflow: “/dev/zero” has more than 64 MB"))
  }

  @Test func `a check that can't say what it found has failed`() throws {
    guard FileManager.default.fileExists(atPath: "/dev/full") else { return }
    let process = try place.process(["check", "hello.yml"])
    process.standardOutput = FileHandle(forWritingAtPath: "/dev/full")
    process.standardError = FileHandle.nullDevice
    try process.run()
    process.waitUntilExit()
    #expect(process.terminationStatus == 1)
  }

  @Test func `shows the mistakes of a file with their lines, before anything runs`() throws {
    for command in [["run"], ["check"], ["simulate", "-w", "1"], ["run", "--dry-run"]] {
      let arguments = [command[0], "wrong.yml"] + command.dropFirst()
      let (status, text) = try complaint(of: place.process(arguments))
      #expect(status == 2)
      #expect(text.contains("wrong.yml:2:"))
      #expect(text.contains("did you mean ‘command’?"))
    }
    #expect(!place.has(".workflow"))
  }

  @Test func `says which run and which step there are`() throws {
    #expect(
      try complaint("resume", "last").text
        == "workflow: there are no runs in .workflow/runs. “workflow run FILE” begins one; "
        + "--runs-folder says where others are\n"
    )
    #expect(try place.run("run", "hello.yml").status == 0)
    let name = try #require(place.runs.first)
    #expect(
      try complaint("resume", "lst") == (
        64,
        "workflow: there is no run “lst” in .workflow/runs; did you mean “last”?\nthe newest:\n"
          + "  \(name)\n"
      )
    )
    #expect(try place.run("explain", String(name.prefix(12)), "tea").status == 0)
    #expect(
      try complaint("explain", "last", "kettel")
        == (64, "workflow: there is no step “kettel”; did you mean “kettle”?\n")
    )
    #expect(
      try complaint("log", "last", "coffee")
        == (64, "workflow: there is no step “coffee”; there are kettle, cup, tea\n")
    )
    #expect(
      try complaint("run", "hello.yml", "--only", "coffee")
        == (64, "workflow: there is no step “coffee”; there are kettle, cup, tea\n")
    )
  }

  @Test(
    arguments: [
      ["run", "hello.yml", "--jobs", "0"], ["run", "hello.yml", "--jobs", "many"],
      ["run", "hello.yml", "--timeline", "t.png"], ["run", "hello.yml", "--graph", "g"],
      ["run", "hello.yml", "--format", "xml"], ["run", "hello.yml", "--engine", "cloud"],
      ["run", "hello.yml", "--grace-period", "10"], ["run", "hello.yml", "-q", "--format", "json"],
      ["simulate", "hello.yml"], ["simulate", "hello.yml", "--workers", "0"],
      ["simulate", "hello.yml", "--workers", "1,,2"], ["import", "x.json", "--scale", "0"],
      ["runs", "--last", "0"], ["walk", "hello.yml"], ["--nonsense"],
    ]
  )
  func `says what is right about arguments`(arguments: [String]) throws {
    let (status, text) = try complaint(of: place.process(arguments))
    #expect(status == 64)
    #expect(text.hasPrefix("Error: "))
    #expect(!place.has(".workflow"))
  }

  @Test func `says how times and folders are written`() throws {
    for (arguments, help) in [
      (["--grace-period", "5"], "the time ‘5’ has no unit; seconds are ‘5s’"),
      (["--grace-period", "soon"], "‘soon’ isn’t a time; times are like ‘90s’, ‘10m’ or ‘1h30m’"),
      (["--grace-period", "999999999h"], "at most 1000d"),
      (["--jobs", "\(Int.max)"], "--jobs needs a number from 1 to 1000000"),
      (["--runs-folder", ""], "--runs-folder needs the name of a folder"),
    ] {
      for command in [["run", "hello.yml"], ["resume", "last"]] {
        let end = try place.run(command + arguments)
        #expect(end.status == 64)
        #expect(end.errors.contains(help), "\(end.errors)")
      }
    }
    #expect(try place.run("run", "--help").output.contains("(default:"))
    #expect(!place.has(".workflow"))
  }

  @Test(arguments: [
    "run", "resume", "check", "list", "runs", "prune", "log", "explain", "simulate", "import",
  ])
  func `teaches each command by examples`(command: String) throws {
    let end = try place.run(command, "--help")
    #expect(end.status == 0)
    #expect(end.output.contains("EXAMPLES:\n  workflow \(command)"))
    let main = try place.run("--help")
    #expect(main.output.contains("\n  \(command) "))
  }
}
