import Foundation
import Testing

@testable import workflow

/// What people do with the program every day, beside running a file.
@Suite(.timeLimit(.minutes(5))) struct `The program, day by day,` {
  private let place: RunPlace

  init() throws { place = try RunPlace() }

  private static let release = """
    name: release
    parameters: {version: , target: staging}
    steps:
      - id: say
        command: |
          echo "${{ parameters.version }} to ${{ parameters.target }}"
          test -e go
    """

  @Test func `gives parameters their values, which a resumed run keeps`() throws {
    try place.write(Self.release, to: "workflow.yml")
    let value = "1.4'; touch \"$(pwd)/bad\"; echo '"
    let first = try place.run("run", "version=\(value)")
    #expect(first.status == 1)
    #expect(first.output.contains("say │ \(value) to staging\n"), "\(first)")
    #expect(!place.has("bad"))
    try place.write("", to: "go")
    let second = try place.run("resume", "last")
    #expect(second.status == 0, "\(second)")
    #expect(second.output.contains("say │ \(value) to staging\n"), "\(second)")
    let value2 = try place.run("resume", "last", "version=3")
    #expect(value2.errors.hasPrefix("Error: A run keeps the values of its parameters"))
    let third = try place.run("run", "workflow.yml", "target=production", "version=2")
    #expect(third.output.contains("say │ 2 to production\n"), "\(third)")
  }

  @Test func `names the parameters that have no value, or that there are not`() throws {
    try place.write(Self.release, to: "workflow.yml")
    let missing = try place.run("run")
    #expect(missing.status == 64)
    #expect(
      missing.errors == "workflow: workflow.yml: the workflow needs a value for ‘version’: give it "
        + "behind the file, like ‘version=VALUE’\n"
    )
    let unknown = try place.run("run", "verson=1")
    #expect(unknown.status == 64)
    #expect(unknown.errors.hasSuffix("no parameter ‘verson’; did you mean ‘version’?\n"))
    #expect(!place.has(".workflow"))
    let twice = try place.run("run", "version=1", "version=2")
    #expect(twice.errors.hasPrefix("Error: The parameter “version” is given two values."))
    let option = try place.run("run", "--version=1")
    #expect((option.status, option.output) == (64, ""))
    #expect(
      try place.run("run", "--dry-run").output.contains("${{ parameters.version }} to staging")
    )
    #expect(
      try place.run("run", "--dry-run", "version=1.4").output.contains("echo \"1.4 to staging")
    )
  }

  @Test func `tells a file and values from the steps behind --only`() {
    let words = RunWordsOfCommandLine([], only: ["a", "b@x,y=z", "v=1", "f.yml"])
    #expect(words.only == ["a"])
    #expect(words.files == ["f.yml"])
    #expect(words.parameters == ["v": "1", "b@x,y": "z"])
    let others = RunWordsOfCommandLine(["f.yml", "v=a=b"], only: ["a.yml"])
    #expect(others.only == ["a.yml"])
    #expect(others.files == ["f.yml"])
    #expect(others.parameters == ["v": "a=b"])
  }

  @Test func `runs the file behind --only`() throws {
    try place.write("steps: [{id: a, command: echo a}, {id: b, command: echo b}]\n")
    let end = try place.run("run", "--only", "b", "w.yml")
    #expect(end.status == 0, "\(end)")
    #expect(end.output.contains("1 succeeded"))
  }

  @Test func `reads variables from files, which the runner's own go before`() throws {
    let text = """
      # Comments and empty lines are left out.

      PLAIN=one two # a comment
      export QUOTED="a # b \\"c\\"\\nd"
      SINGLE='$HOME'
      EMPTY=
      OWN=of the file
      """
    try place.write(text, to: ".env")
    let steps = """
      env-file: .env
      steps:
        - {id: a, command: 'printf "%s|" "$PLAIN" "$QUOTED" "$SINGLE" "$EMPTY" "$OWN"'}
      """
    try place.write(steps)
    let end = try place.run("run", "w.yml", environment: ["OWN": "of the runner"])
    #expect(end.output.contains("a │ one two|a # b \"c\"\na │ d|$HOME||of the runner|"), "\(end)")
  }

  @Test(arguments: [
    (nil, "The ‘env-file’ .env can't be read: No such file or directory"),
    ("A=1\nB\n", "The ‘env-file’ .env can't be read: line 2: it is not ‘NAME=VALUE’"),
    (
      "\u{FEFF}A = 1\nexport\tB=2\nC=\"a\"b\n",
      "The ‘env-file’ .env can't be read: line 3: there is text "
        + "after its closing quotation mark"
    ),
    ("A=\"\\\"\n", "The ‘env-file’ .env can't be read: line 1: its quotation mark is never closed"),
    (
      String(repeating: "#", count: 1 << 20) + "\n",
      "The ‘env-file’ .env can't be read: File too large"
    ),
    ("A=\"\n", "The ‘env-file’ .env can't be read: line 1: its quotation mark is never closed"),
    ("A='1\n", "The ‘env-file’ .env can't be read: line 1: its quotation mark is never closed"),
  ])
  func `begins no run with a file of variables that can't be read`(
    _ text: String?,
    _ reason: String
  ) throws {
    if let text { try place.write(text, to: ".env") }
    try place.write("env-file: .env\nsteps: [{id: a, command: x}]\n")
    let end = try place.run("run", "w.yml")
    #expect((end.status, end.errors) == (2, "workflow: \(reason)\n"))
    #expect(!place.has(".workflow"))
  }

  @Test func `shows no secrets, neither at once nor later, and lets nobody else read a run`() throws
  {
    let steps = """
      secrets: [TOKEN, KEY, SHORT]
      env: {KEY: "${{ env.TOKEN }}-and-more"}
      steps:
        - id: a
          command: |
            echo "$TOKEN, $KEY, $SHORT"
            echo "$TOKEN" >&2
            test -e go
          on-rollback: echo "undone with $TOKEN"
        - {id: b, needs: a, command: echo "$TOKEN"; exit 3}
      """
    try place.write(steps)
    try place.write("", to: "go")
    let environment = ["TOKEN": "p4ssw0rd", "SHORT": "abc"]
    let end = try place.run("run", "w.yml", environment: environment)
    #expect(end.output.contains("a │ ********, *****************, abc\n"), "\(end)")
    #expect(!end.output.contains("p4ssw0rd"))
    let run = ".workflow/runs/\(try place.runs[0])"
    for file in ["logs/a.log", "logs/b.log", "events.jsonl", "journal"] {
      #expect(try !place.read("\(run)/\(file)").contains("p4ssw0rd"), "\(file)")
    }
    #expect(try place.read("\(run)/logs/a.log").contains("undone with ********"))
    let permissions = try FileManager.default.attributesOfItem(atPath: place.path(run))
    #expect(permissions[.posixPermissions] as? Int == 0o700)
  }

  @Test func `shows no secrets in reasons and pictures, nor a line in two pieces`() throws {
    let steps = """
      secrets: [TOKEN, TOKNE]
      steps:
        - {id: b, command: x, cwd: "/none/${{ env.TOKEN }}"}
        - {id: c, command: x, require: {exists: "/none/${{ env.TOKEN }}"}}
        - {id: e, command: x, when: {exists: "/none/${{ env.TOKEN }}"}}
        - {id: f, command: ["/none/${{ env.TOKEN }}"], retry: {attempts: 2, delay: 1ms}}
        - id: m
          command: printf "%.4s" "$TOKEN"; sleep 0.2; printf "%s\\n" "${TOKEN#????}"
        - {id: u, command: echo, on-rollback: ["/none/${{ env.TOKEN }}"]}
        - {id: w, needs: u, command: exit 1}
      """
    try place.write(steps)
    let arguments = ["run", "w.yml", "-k", "--timeline", "t.svg", "--graph", "g.svg"]
    let end = try place.run(arguments, environment: ["TOKEN": "p4ssw0rd"])
    #expect(end.status == 1)
    #expect(end.output.contains("‘exists’: there is no file /none/********"), "\(end)")
    #expect(end.output.contains("m │ ********\n"), "\(end)")
    #expect(
      end.errors
        == "workflow: the secret “TOKNE” isn't a variable that is set; did you mean “TOKEN”?\n"
    )
    let run = ".workflow/runs/\(try place.runs[0])"
    for file in ["events.jsonl", "journal", "logs/m.log"] {
      #expect(try !place.read("\(run)/\(file)").contains("p4ss"), "\(file)")
    }
    for text in [end.output, try place.read("t.svg"), try place.read("g.svg")] {
      #expect(!text.contains("p4ss"))
    }
    for step in ["b", "c", "e", "f", "u"] {
      #expect(try !place.run("explain", "last", step).output.contains("p4ss"))
    }
  }

  @Test func `gives the outputs of a step that is up to date`() throws {
    let steps = """
      steps:
        - id: made
          when: {missing: made}
          command: echo "v=$V" >> $WORKFLOW_OUTPUT; touch made
          outputs: [v]
        - {id: use, needs: made, command: "echo v is ${{ steps.made.v }}"}
      """
    try place.write(steps)
    #expect(
      try place.run("run", "w.yml", environment: ["V": "1"]).output.contains("use │ v is 1\n")
    )
    for _ in 1...2 {
      let again = try place.run("run", "w.yml", environment: ["V": "2"])
      #expect(again.output.contains("↷ made  skipped"), "\(again)")
      #expect(again.output.contains("use │ v is 1\n"), "\(again)")
    }
    // Nobody knows any more what it gave.
    _ = try place.run("prune", "--keep", "0")
    let last = try place.run("run", "w.yml", environment: ["V": "3"])
    #expect(last.output.contains("use │ v is 3\n"), "\(last)")
  }

  @Test func `says of what a skipped step did not give that it was skipped`() throws {
    let steps = """
      steps:
        - {id: a, when: {env: NOWHERE}, command: x, outputs: [v]}
        - {id: b, needs: a, command: "echo ${{ steps.a.v }}"}
      """
    try place.write(steps)
    let end = try place.run("run", "w.yml")
    #expect(end.output.contains("b  the step ‘a’ was skipped, and so gave no output ‘v’"), "\(end)")
  }

  @Test func `removes no folders but those of runs, which others don't count among`() throws {
    try place.write("steps: [{id: a, command: echo}]\n")
    for _ in 1...3 { _ = try place.run("run", "w.yml") }
    let runs = try place.runs
    for name in ["zz", "2026-01-01-000000-mine"] {
      let folder = place.path(".workflow/runs/\(name)")
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      try place.write("x", to: ".workflow/runs/\(name)/workflow.yml")
    }
    #expect(try place.run("prune", "--keep", "2", "--unfinished").output == "removed \(runs[0])\n")
    _ = try place.run("prune", "--keep", "0", "--unfinished", "--runs-folder", ".")
    #expect(try place.runs == ["2026-01-01-000000-mine"] + runs.dropFirst() + ["zz"])
    #expect(try place.run("resume", "last").output.contains(runs[2]))
  }

  @Test func `knows of half a file where its project was moved`() throws {
    let steps = """
      steps:
        - {id: a, when: {missing: out}, command: "echo half > out; test -e ok; echo whole > out"}
        - {id: b, needs: a, command: cat out}
      """
    let manager = FileManager.default
    try manager.createDirectory(atPath: place.path("one"), withIntermediateDirectories: true)
    try place.write(steps, to: "one/w.yml")
    #expect(try place.run("run", "one/w.yml").status == 1)
    try manager.moveItem(atPath: place.path("one"), toPath: place.path("two"))
    try place.write("", to: "two/ok")
    let end = try place.run("run", "two/w.yml")
    #expect(end.output.contains("b │ whole\n"), "\(end)")
  }

  #if os(Linux)
  @Test func `says that processes of a run that was cut off go on, and keeps that run`() throws {
    try place.write("steps: [{id: a, command: 'echo $$ > pid; exec sleep 600'}]\n")
    let process = try place.process(["run", "w.yml", "-q"])
    try process.run()
    try wait(until: "the step has begun") { (try? place.read("pid").isEmpty) == false }
    let step = try #require(Int32(try place.read("pid").dropLast()))
    defer { kill(-step, SIGKILL) }
    try wait(until: "the journal has it") {
      guard let run = try? place.runs.first else { return false }
      return (try? place.read(".workflow/runs/\(run)/journal").contains("handle")) == true
    }
    kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
    let name = try place.runs[0]
    #expect(try place.run("prune", "--keep", "0", "--unfinished").output.contains("\(name) stays"))
    #expect(place.has(".workflow/runs/\(name)"))
    try place.write("steps: [{id: a, command: 'true'}]\n")
    let end = try place.run("run", "w.yml")
    #expect(
      end.errors.hasPrefix("workflow: \(name) was cut off, and its processes keep running (a); ")
    )
    #expect(end.status == 0)
  }
  #endif

  @Test func `a run excludes its folder from git`() throws {
    try place.write("steps: [{id: a, command: echo}]\n")
    #expect(try place.run("run", "w.yml").status == 0)
    #expect(try place.read(".workflow/.gitignore") == "*\n")
    // Whoever changed that had a reason.
    try place.write("", to: ".workflow/.gitignore")
    #expect(try place.run("run", "w.yml").status == 0)
    #expect(try place.read(".workflow/.gitignore") == "")
  }

  @Test func `lists the workflows of a folder`() throws {
    try place.write(Self.release, to: "release.yml")
    try place.write("steps: [{id: a}]\n", to: "wrong.yaml")
    try place.write("services: {web: {image: x}}\n", to: "compose.yml")
    let end = try place.run("list")
    #expect(
      end.output == """
        file         workflow  steps  parameters
        release.yml  release       1  target=staging, version
        wrong.yaml   –             –  has mistakes: workflow check wrong.yaml

        """
    )
    // Nobody writes to it.
    #expect(mkfifo(place.path("pipe.yml"), 0o600) == 0)
    #expect(try place.run("list").output == end.output)
    #expect(try place.run("list", "nowhere").status == 64)
    #expect(try place.run("list", "release.yml").errors.contains("is a file"))
  }

  @Test func `pruning removes old runs, and resumable runs only with an option`() throws {
    try place.write("steps: [{id: a, command: echo}]\n", to: "good.yml")
    try place.write("steps: [{id: a, command: exit 1}]\n", to: "bad.yml")
    for file in ["bad.yml", "good.yml", "good.yml", "good.yml"] { _ = try place.run("run", file) }
    let names = try place.runs
    let old = names.filter { !$0.contains("good-3") && $0.contains("good") }
    let dry = try place.run("prune", "--keep", "1", "--dry-run")
    #expect(dry.output.contains("1 run that can be resumed stays; --unfinished removes them too"))
    #expect(try place.runs == names)
    let end = try place.run("prune", "--keep", "1")
    #expect(end.output.split(separator: "\n").count { $0.hasPrefix("removed ") } == 2, "\(end)")
    #expect(try place.runs.count == 2)
    #expect(old.count >= 2)
    #expect(try place.run("prune", "--keep", "0", "--older-than", "1h").output.contains("nothing"))
    #expect(try place.run("prune", "--keep", "0", "--unfinished").status == 0)
    #expect(try place.runs.isEmpty)
  }

  @Test(arguments: [
    ("Taskfile.yml", "version: '3'\ntasks:\n  a: {cmds: [x]}\n", "Taskfile", "‘deps’ is ‘needs’"),
    ("ci.yml", "on: push\njobs:\n  a: {}\n", "workflow of GitHub Actions", "‘if’ is ‘when’"),
    ("Snakefile", "rule a:\n    output: \"x\"\n", "Snakefile", "wildcards are a ‘matrix’"),
    ("Makefile", "a: b\n\tcc b\n", "Makefile", "‘needs’"),
    ("x.txt", "hello\n", "file that isn't JSON", "WfCommons"),
  ])
  func `says of files of others how to write them`(
    _ name: String,
    _ text: String,
    _ what: String,
    _ advice: String
  ) throws {
    try place.write(text, to: name)
    let end = try place.run("import", name)
    #expect(end.status == 2)
    #expect(end.errors.hasPrefix("workflow: \(name) is a \(what), which can't be imported: "))
    let run = try place.run("run", name)
    #expect(run.status == 2)
    #expect(run.errors.contains("is a \(what), not a workflow") == !what.contains("JSON"))
    #expect(end.errors.contains(advice))
  }

  @Test func `says which files there are when none is named`() throws {
    try place.write("steps: [{id: a, command: echo}]\n", to: "b.yml")
    for command in ["run", "check"] {
      let end = try place.run(command)
      #expect(end.status == 64)
      #expect(
        end.errors
          == "workflow: no file is named, and there is no workflow.yml in this folder; there "
          + "is b.yml\n"
      )
    }
  }

  private static let asking = """
    steps:
      - id: ask
        interactive: true
        command: printf "sure? "; read -r answer; echo "got $answer"; test "$answer" = yes
      - {id: other, command: "for i in 1 2 3; do echo line $i; done"}
      - {id: go, needs: ask, command: echo gone}
    """

  @Test func `lends a step its standard input`() throws {
    try place.write(Self.asking)
    for (answer, status) in [("yes\n", Int32(0)), ("no\n", 1), ("", 1)] {
      let process = try place.process(["run", "w.yml"])
      let (input, output) = (Pipe(), Pipe())
      process.standardInput = input
      process.standardOutput = output
      try process.run()
      try input.fileHandleForWriting.write(contentsOf: Data(answer.utf8))
      try input.fileHandleForWriting.close()
      let bytes = try output.fileHandleForReading.readToEnd() ?? Data()
      process.waitUntilExit()
      #expect(process.terminationStatus == status)
      let text = String(decoding: bytes, as: UTF8.self)
      #expect(text.contains("▸ ask has the terminal:\nsure? "))
      #expect(text.contains("“ask” had the terminal; what it printed isn't kept") == (status == 1))
      #expect(text.contains("got yes\n") == (status == 0), "\(text)")
    }
  }

  @Test func `lends a step the terminal`() throws {
    try place.write(Self.asking)
    let terminal = try PseudoTerminal()
    let process = try place.start(terminal, ["run", "w.yml"])
    terminal.wait(for: "sure?")
    terminal.type("yes\n")
    let screen = terminal.wait(for: nil)
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
    #expect(
      screen.text.contains("▸ ask has the terminal:\nsure? yes\ngot yes\n"),
      "\(screen.text)"
    )
    #expect(screen.text.contains("✓ w succeeded after "))
  }

  #if os(Linux)
  @Test(arguments: ["timeout: 1s", "on-rollback: echo"])
  func `ends the processes of a step that had the terminal`(key: String) throws {
    let end = key.hasPrefix("timeout") ? "wait" : "exit 1"
    try place.write(
      """
      steps:
        - {id: a, interactive: true, \(key), command: "sleep 600 & echo $! > pid; \(end)"}
      """
    )
    #expect(try place.run("run", "w.yml", "--grace-period", "1s").status == 1)
    let process = try #require(Int32(try place.read("pid").dropLast()))
    try wait(until: "the process is gone") { !ProcessState.isAlive(process) }
  }

  @Test func `has the terminal back as it was`() throws {
    let step = "{id: a, interactive: true, command: 'stty -echo -icanon; exit 1'}"
    try place.write("steps: [\(step)]\n")
    let terminal = try PseudoTerminal()
    let script = #""$0" "$@"; stty -a | grep -o -e '-*icanon' -e '-*echo '; echo done"#
    let process = try place.start(terminal, script: script, ["run", "w.yml"])
    let screen = terminal.wait(for: nil)
    process.waitUntilExit()
    #expect(screen.text.contains("\nicanon\n"), "\(screen.text)")
    #expect(screen.text.contains("\necho"), "\(screen.text)")
    #expect(!screen.text.contains("-icanon"), "\(screen.text)")
  }
  #endif

  @Test func `ends a step that has the terminal with Ctrl-C`() throws {
    try place.write(Self.asking)
    let terminal = try PseudoTerminal()
    let process = try place.start(terminal, ["run", "w.yml"])
    terminal.wait(for: "sure?")
    terminal.type("\u{3}")
    let screen = terminal.wait(for: nil)
    process.waitUntilExit()
    #expect(process.terminationStatus == 130)
    #expect(screen.text.contains("ask  cancelled: Ctrl-C"), "\(screen.text)")
  }

  @Test func `says that a cluster has no terminal`() throws {
    try place.write(Self.asking)
    let end = try place.run("run", "w.yml", "--engine", "slurm")
    #expect(end.status == 64)
    #expect(
      end.errors == "workflow: step “ask” is interactive, and has no terminal with --engine slurm\n"
    )
  }

  @Test func `starts steps in the order of the file where one runs at a time`() throws {
    let names = (0..<20).map { "s\($0)" }
    try place.write("steps:\n" + names.map { "  - {id: \($0), command: 'true'}\n" }.joined())
    for _ in 1...10 {
      let end = try place.run("run", "w.yml", "--jobs", "1")
      let started = end.output.split(separator: "\n").filter { $0.hasPrefix("▸ ") }.map {
        $0.dropFirst(2)
      }
      #expect(started.map(String.init) == names)
    }
  }

  @Test func `has a version`() throws {
    #expect(try place.run("--version").output == "1.0.0\n")
  }

  @Test func `draws what was undone as that`() throws {
    let steps = """
      steps:
        - {id: made, command: echo, on-rollback: echo}
        - {id: fails, needs: made, command: exit 1}
      """
    try place.write(steps)
    #expect(try place.run("run", "w.yml", "--timeline", "t.svg", "--graph", "g.svg").status == 1)
    let timeline = try place.read("t.svg")
    #expect(timeline.contains("made, undone"))
    #expect(timeline.contains("undo made"))
    #expect(try place.read("g.svg").contains("made, undone"))
  }
}
