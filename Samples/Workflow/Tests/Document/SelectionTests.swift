import Testing
import WorkflowDocument

/// `--only` takes steps with what they need.
@Suite struct `Only some steps of a workflow` {
  private let workflow: Workflow

  init() throws {
    workflow = try WorkflowFile.workflow(
      from: """
        resources: {cpu: 1}
        steps:
          - {id: fetch, command: a}
          - {id: build, command: b, needs: fetch}
          - {id: lint, command: c, matrix: {os: [linux, macos]}}
          - {id: test, command: d, needs: [build, lint]}
          - {id: docs, command: e, needs: lint}
        """,
      name: "file"
    )
  }

  private func only(_ names: String...) throws -> [String] {
    try workflow.only(names).steps.map(\.id)
  }

  @Test func `are these with all that they need, in their order`() throws {
    #expect(try only("build") == ["fetch", "build"])
    #expect(try only("docs", "build") == ["fetch", "build", "lint@linux", "lint@macos", "docs"])
    #expect(
      try only("test") == ["fetch", "build", "lint@linux", "lint@macos", "test"]
    )
    #expect(try workflow.only(["build"]).resources == workflow.resources)
  }

  @Test func `are all combinations of a matrix, or the one that is named`() throws {
    #expect(try only("lint") == ["lint@linux", "lint@macos"])
    #expect(try only("lint@macos") == ["lint@macos"])
  }

  @Test func `are none if none is named`() throws { #expect(try only().isEmpty) }

  @Test func `can't be unknown, of which all are named`() throws {
    let error = #expect(throws: Workflow.UnknownSteps.self) {
      try only("biuld", "fetch", "lint@windows", "lint@mcos", "zzz")
    }
    #expect(
      error?.description == """
        there is no step ‘biuld’; did you mean ‘build’?
        there is no step ‘lint@windows’
        there is no step ‘lint@mcos’; did you mean ‘lint@macos’?
        there is no step ‘zzz’
        """
    )
  }

  @Test func `are written as a file with these combinations`() throws {
    let one = try workflow.only(["lint@macos"])
    let text = WorkflowFile.text(of: one)
    #expect(try WorkflowFile.workflow(from: text, name: "").steps.map(\.id) == ["lint@macos"])
  }
}
