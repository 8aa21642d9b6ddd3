import SampleTestSupport
import Testing
import WorkflowDocument

/// What `resume --accept-changes` says.
@Suite struct `Changes of a workflow` {
  private func changes(
    from old: String,
    to new: String,
    finished: Set<String> = []
  ) throws -> WorkflowChanges {
    WorkflowChanges(
      from: try WorkflowFile.workflow(from: old, name: "file"),
      to: try WorkflowFile.workflow(from: new, name: "file"),
      finished: finished
    )
  }

  @Test func `are none where only lines and words of YAML differ`() throws {
    let changes = try changes(
      from: "steps: [{id: a, command: make, timeout: 60s}]",
      to: "# why\ndefaults: {timeout: 1m}\nsteps:\n- command: 'make'\n  id: a"
    )
    #expect(changes.isEmpty)
  }

  @Test func `are named step by step, with what had finished`() throws {
    let changes = try changes(
      from: """
        env: {A: one, B: two}
        resources: {cpu: 4, disk: 1GiB}
        steps:
          - {id: build, command: make all, timeout: 60s}
          - {id: test, command: make check, needs: build, retry: 2}
          - {id: lint, command: lint}
          - {id: ship, command: ship, needs: [test]}
        """,
      to: """
        env: {A: 1, C: three}
        resources: {cpu: 2, disk: 1GiB}
        steps:
          - {id: build, command: make all, timeout: 60s}
          - {id: test, command: make test, needs: build, cwd: sub}
          - {id: pack, command: tar}
          - {id: ship, command: ship, needs: [test, pack]}
          - {id: tell, command: mail, needs: [ship]}
        """,
      finished: ["build", "test", "lint", "ship"]
    )
    #expect(
      changes.texts == [
        "the variable ‘A’ was ‘one’, is ‘1’",
        "the variable ‘B’ is gone",
        "the variable ‘C’ is new: ‘three’",
        "the resource ‘cpu’ was ‘4’, is ‘2’",
        "step ‘test’: command was ‘make check’, is ‘make test’; cwd is new: ‘sub’;"
          + " retry was ‘2’, is gone; it had finished",
        "step ‘pack’ is new",
        "step ‘ship’: needs was ‘test’, is ‘test, pack’; it had finished",
        "step ‘tell’ is new",
        "step ‘lint’ is gone; it had finished",
      ]
    )
    #expect(changes.affected == ["test", "ship"])
  }

  @Test func `of steps reach those that had finished with them`() throws {
    let text = """
      steps:
        - {id: a, command: one}
        - {id: b, command: x, needs: a}
        - {id: c, command: x, needs: b}
        - {id: d, command: x}
      """
    let changes = try changes(
      from: text,
      to: text.replacing("one", with: "two"),
      finished: ["a", "b", "c", "d"]
    )
    #expect(
      changes.texts == [
        "step ‘a’: command was ‘one’, is ‘two’; it had finished",
        "‘b’ and ‘c’ had finished, and need a step that is different now",
      ]
    )
    #expect(changes.affected == ["a", "b", "c"])
  }

  @Test func `that all combinations share are named once`() throws {
    let old = "steps: [{id: t, command: a, matrix: {x: [1, 2]}}]"
    #expect(
      try changes(from: old, to: "steps: [{id: t, command: b, matrix: {x: [1, 2, 3, 4]}}]").texts
        == [
          "2 combinations of step ‘t’: command was ‘a’, is ‘b’",
          "2 combinations of step ‘t’ are new",
        ]
    )
  }

  @Test func `of long texts show where they differ`() throws {
    let long = String(repeating: "word ", count: 40)
    let text = try changes(
      from: "steps: [{id: a, command: \"\(long)one\"}]",
      to: "steps: [{id: a, command: \"\(long)two\\nmore\"}]"
    ).texts
    #expect(
      text == [
        "step ‘a’: command was ‘…word word word one’, is ‘…word word word two more’"
      ]
    )
  }

  @Test func `of random workflows are none from themselves, after a file too`() throws {
    for seed in Effort.seeds(30) {
      let workflow = RandomWorkflow(seed: 1000 + seed).workflow
      let read = try WorkflowFile.workflow(from: WorkflowFile.text(of: workflow), name: "x")
      #expect(read.differences(from: workflow) == [])
    }
  }
}
