import Foundation
import Testing

/// What the program says to people who are wrong.
@Suite(.serialized, .timeLimit(.minutes(5))) struct `The program that is used wrongly` {
  private let place: RunPlace

  init() throws {
    place = try RunPlace()
    try place.write(try RunPlace.example("hello.yml"), to: "hello.yml")
    try place.write("steps:\n  - {id: a, comand: x}\n", to: "wrong.yml")
  }

  private func complaint(_ arguments: String...) throws -> (status: Int32, text: String) {
    let process = try place.process(arguments)
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

  @Test func `shows the mistakes of a file with their lines, before anything runs`() throws {
    for command in [["run"], ["check"], ["simulate", "-w", "1"], ["run", "--dry-run"]] {
      let process = try place.process([command[0], "wrong.yml"] + command.dropFirst())
      let errors = Pipe()
      process.standardError = errors
      try process.run()
      let data = try errors.fileHandleForReading.readToEnd() ?? Data()
      process.waitUntilExit()
      #expect(process.terminationStatus == 2)
      let text = String(decoding: data, as: UTF8.self)
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
      ["run", "hello.yml", "--slurm-array-from", "4"],
      ["run", "hello.yml", "--engine", "slurm", "--slurm-array-from", "1"],
      ["simulate", "hello.yml"], ["simulate", "hello.yml", "--workers", "0"],
      ["simulate", "hello.yml", "--workers", "1,,2"], ["import", "x.json", "--scale", "0"],
      ["runs", "--last", "0"], ["run"], ["walk", "hello.yml"], ["--nonsense"],
    ]
  )
  func `says what is right about arguments`(arguments: [String]) throws {
    let process = try place.process(arguments)
    let errors = Pipe()
    process.standardError = errors
    try process.run()
    let data = try errors.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    #expect(process.terminationStatus == 64)
    #expect(String(decoding: data, as: UTF8.self).hasPrefix("Error: "))
    #expect(!place.has(".workflow"))
  }

  @Test func `says how times and folders are written`() throws {
    for (arguments, help) in [
      (["--grace-period", "5"], "a number needs its unit: 5s, 5m, 5h or 5ms"),
      (["--grace-period", "soon"], "write 90s, 10m, 1h30m or 500ms"),
      (["--grace-period", "999999999h"], "at most 24000h"),
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

  @Test(arguments: ["run", "resume", "check", "runs", "log", "explain", "simulate", "import"])
  func `teaches each command by examples`(command: String) throws {
    let end = try place.run(command, "--help")
    #expect(end.status == 0)
    #expect(end.output.contains("EXAMPLES:\n  workflow \(command)"))
    let main = try place.run("--help")
    #expect(main.output.contains("\n  \(command) "))
  }
}
