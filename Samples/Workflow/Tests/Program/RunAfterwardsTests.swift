import Foundation
import Testing

@testable import workflow

/// What the built program says of a run that is over, however it ended.
@Suite struct `A run, examined afterwards` {
  private let place: RunPlace

  init() throws { place = try RunPlace() }

  private var events: String {
    get throws { place.path(".workflow/runs/\(try #require(place.runs.last))/events.jsonl") }
  }

  /// Takes lines away from the end of the file of events, as a kill and a full disk do.
  private func keepEvents(_ count: Int) throws {
    let lines = try String(contentsOfFile: events, encoding: .utf8).split(separator: "\n")
    try #require(lines.count > count)
    try (lines.prefix(count).joined(separator: "\n") + "\n")
      .write(toFile: events, atomically: true, encoding: .utf8)
  }

  @Test(arguments: 1...5)
  func `is explained by its journal where the file of events knows less`(kept: Int) throws {
    try place.write(
      """
      steps:
        - {id: a, command: "true"}
        - {id: b, command: "test -e go", needs: a, retry: none}
      """
    )
    #expect(try place.run("run", "w.yml").status == 1)
    try keepEvents(kept)
    #expect(try place.run("explain", "last", "a").output.contains("“a” succeeded"))
    #expect(try place.run("explain", "last", "b").output.contains("“b” failed: exited with 1"))
    try place.write("", to: "go")
    #expect(try place.run("resume", "last").status == 0)
    let end = try place.run("explain", "last", "b")
    #expect(end.output.contains("“b” succeeded"), "\(end)")
  }

  /// As when the program is killed in its first moment.
  @Test(arguments: [nil, "", "528c4487 {\"begun"])
  func `is resumed where its file is, although its journal has no line`(journal: String?) throws {
    try place.write("steps: [{id: a, command: pwd > here}]")
    #expect(try place.run("run", "w.yml").status == 0)
    let run = place.path(".workflow/runs/\(try #require(place.runs.last))")
    for name in ["events.jsonl", "journal", "lock"] {
      try FileManager.default.removeItem(atPath: "\(run)/\(name)")
    }
    if let journal {
      try journal.write(toFile: "\(run)/journal", atomically: true, encoding: .utf8)
    }
    try FileManager.default.removeItem(atPath: place.path("here"))
    try FileManager.default.createDirectory(
      atPath: place.path("elsewhere"),
      withIntermediateDirectories: false
    )
    let process = try place.process(["resume", "last"])
    process.currentDirectoryURL = place.url.appending(path: "elsewhere")
    process.standardOutput = FileHandle.nullDevice
    try process.run()
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
    #expect(place.has("here") && !place.has("elsewhere/here"))
    #expect(try place.run("runs").output.contains("succeeded"))
  }

  @Test func `has whole lines of events after one that was torn`() throws {
    try place.write("steps: [{id: a, command: test -e go}]")
    #expect(try place.run("run", "w.yml").status == 1)
    let bytes = try Data(contentsOf: URL(filePath: events))
    try bytes.dropLast(40).write(to: URL(filePath: events))
    try place.write("", to: "go")
    #expect(try place.run("resume", "last").status == 0)
    let lines = try String(contentsOfFile: events, encoding: .utf8).split(separator: "\n")
    let values = lines.map { try? JSONSerialization.jsonObject(with: Data($0.utf8)) }
    #expect(values.allSatisfy { $0 != nil })
    #expect(lines.count { $0.contains(#""event":"runStarted""#) } == 2)
  }

  @Test func `has a log whose headings begin lines, for rollbacks too`() throws {
    try place.write(
      """
      steps:
        - id: a
          command: 'printf one; test -e go || { touch go; exit 1; }; printf "and two"'
          retry: {attempts: 2, delay: 0s}
          on-rollback: echo undone
        - {id: b, command: "false", needs: a}
      """
    )
    #expect(try place.run("run", "w.yml").status == 1)
    #expect(
      try place.run("log", "last", "a").output == """
        one
        —— attempt 2 ——
        oneand two
        —— rollback ——
        undone

        """
    )
  }

  @Test func `has a heading where an attempt follows one of a killed runner`() throws {
    try place.write(
      """
      steps:
        - {id: a, command: 'echo begun; test -e go || { touch go; kill -9 $PPID; sleep 60; }'}
      """
    )
    _ = try place.run("run", "w.yml")
    #expect(try place.run("resume", "last").status == 0)
    let lines = try place.run("log", "last", "a").output.split(separator: "\n")
    #expect(lines.count == 3)
    #expect(lines.first == "begun" && lines.last == "begun")
    #expect(lines.dropFirst().first?.hasPrefix("—— attempt ") == true)
  }
}
