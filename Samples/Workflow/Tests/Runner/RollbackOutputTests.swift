import Foundation
import Testing
import WorkflowDocument

@testable import WorkflowRunner

/// What undoes a step may have what the step gave.
@Suite struct RollbackOutputTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private static func workflow(_ output: String = "id") throws -> Workflow {
    try WorkflowFile.workflow(
      from: """
        steps:
          - id: make
            command: make
            outputs: [id\(output == "id" ? "" : ", \(output)")]
            on-rollback: [undo, "${{ steps.make.\(output) }}"]
          - {id: after, command: after, needs: make}
        """,
      name: "test"
    )
  }

  private static let made: [String: [ScriptedEngine.Play]] = [
    "make": [.exit(0, outputs: ["id": "7"])]
  ]

  @Test func `It is undone with what it gave`() throws {
    let plays = Self.made.merging(["after": [.exit(1)]]) { first, _ in first }
    let run = SimulatedRun(try Self.workflow(), in: try folder.run(), plays: plays)
    #expect(try run.end().undone == 1)
    #expect(run.engine.lists == ["undo 7"])
  }

  @Test func `Each combination of a matrix is undone with what it gave itself`() throws {
    let workflow = try WorkflowFile.workflow(
      from: """
        steps:
          - id: make
            matrix: {os: [x, y]}
            command: make
            outputs: id
            on-rollback: [undo, "${{ matrix.os }}", "${{ steps.make.id }}"]
          - {id: after, command: after, needs: make}
        """,
      name: "test"
    )
    let run = SimulatedRun(
      workflow,
      in: try folder.run(),
      plays: [
        "make@x": [.exit(0, outputs: ["id": "1"])], "make@y": [.exit(0, outputs: ["id": "2"])],
        "after": [.exit(1)],
      ]
    )
    #expect(try run.end().undone == 2)
    #expect(run.engine.lists.sorted() == ["undo x 1", "undo y 2"])
  }

  /// A run that ends in the middle of its second step, as by a kill.
  private func interrupted() throws -> RunFolder {
    let place = try folder.run()
    try SimulatedRun(try Self.workflow(), in: place, plays: Self.made).end()
    let text = try String(contentsOfFile: place.journal, encoding: .utf8)
    let lines = text.split(separator: "\n")
    let end = try #require(lines.firstIndex { $0.contains("\"make\"") && $0.contains("ended") })
    try (lines[...end].joined(separator: "\n") + "\n")
      .write(toFile: place.journal, atomically: true, encoding: .utf8)
    return place
  }

  @Test func `After a resume that is what the journal has`() throws {
    let run = SimulatedRun(
      try Self.workflow(),
      in: try interrupted(),
      plays: ["after": [.exit(1)]]
    )
    #expect(try run.end().undone == 1)
    #expect(run.engine.lists == ["undo 7"])
  }

  @Test func `Also of a step that the resumed run has not come to when it is cancelled`() throws {
    let run = SimulatedRun(try Self.workflow(), in: try interrupted())
    run.run.cancel(because: "a test asked for it")
    try run.end()
    #expect(run.engine.lists == ["undo 7"])
  }

  @Test func `A rollback that is repeated has it from the journal as well`() throws {
    let place = try folder.run()
    let plays = Self.made.merging(["after": [.exit(1)], "undo-make": [.exit(5)]]) { $1 }
    try SimulatedRun(try Self.workflow(), in: place, plays: plays).end()
    let run = SimulatedRun(try Self.workflow(), in: place, plays: Self.made)
    #expect(try run.end().succeeded == 2)
    #expect(run.engine.lists == ["undo 7"])
  }

  @Test func `Where the step never gave it, the rollback fails and says so`() throws {
    let place = try folder.run()
    let plays = Self.made.merging(["after": [.exit(1)], "undo-make": [.exit(5)]]) { $1 }
    try SimulatedRun(try Self.workflow(), in: place, plays: plays).end()
    // The file was changed, and names an output that the step had not given then.
    let run = SimulatedRun(try Self.workflow("name"), in: place) { $0.acceptsChanges = true }
    let end = try run.end()
    #expect(end.failures.contains("the step ‘make’ gave no output ‘name’"), "\(end.failures)")
    #expect(end.failures.contains("--accept-failed-rollbacks"))
    #expect(run.engine.begins == [])
  }

  @Test func `A log says where its rollback begins, also of a step that printed nothing`() throws {
    let place = try folder.run()
    let plays = Self.made.merging(["after": [.exit(1)]]) { first, _ in first }
    try SimulatedRun(try Self.workflow(), in: place, plays: plays).end()
    let log = try String(contentsOfFile: place.logFile(of: "make"), encoding: .utf8)
    #expect(log == "—— rollback ——\n")
  }
}
