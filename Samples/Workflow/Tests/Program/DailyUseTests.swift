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
    #expect(try place.run("run", "--dry-run").status == 0)
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

  @Test func `tells git to leave its folder alone`() throws {
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
    #expect(try place.run("list", "nowhere").status == 64)
  }

  @Test func `removes old runs, and none that could be resumed unless asked to`() throws {
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
    ("x.txt", "hello\n", "file that is no JSON", "WfCommons"),
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
      #expect(text.contains("sure? "))
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
    #expect(screen.text.contains("sure? yes\ngot yes\n"), "\(screen.text)")
    #expect(screen.text.contains("✓ w succeeded after "))
  }

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
