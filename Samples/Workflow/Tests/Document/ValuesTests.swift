import Testing
import WorkflowDocument

/// What a file's texts, variables and outcomes mean.
@Suite struct `A text of a file` {
  private func workflow(_ text: String) throws -> Workflow {
    try WorkflowFile.workflow(from: text, name: "file")
  }

  @Test func `is what is written, whatever YAML 1.1 takes it for`() throws {
    let workflow = try workflow(
      """
      env: {A: no, B: 1.10, C: 0x10, D: 1_000, E: 2026-11-22, F: "~", G: , H: "on", I: 1e3, J: 010}
      steps:
        - id: 007
          command: [echo, yes, 1.0, 0o7, null, ""]
          matrix: {v: [1.10, on, 3.0, 12:30:45]}
          outputs: [yes, no]
      """
    )
    #expect(
      workflow.environment.mapValues(\.text) == [
        "A": "no", "B": "1.10", "C": "0x10", "D": "1_000", "E": "2026-11-22", "F": "~", "G": "",
        "H": "on", "I": "1e3", "J": "010",
      ]
    )
    #expect(workflow.steps.map(\.id) == ["007@1.10", "007@on", "007@3.0", "007@12:30:45"])
    #expect(workflow.steps[3].fileName == "007@12_30_45")
    #expect(workflow.steps[0].outputs == ["yes", "no"])
    #expect(workflow.steps[0].command.text == "echo yes 1.0 0o7 null ")
  }

  @Test func `comes from an anchor or a merge key where it says so`() throws {
    let workflow = try workflow(
      """
      env: &env {A: "1", B: "2"}
      steps:
        - &base {id: one, command: x, timeout: 5s, env: *env}
        - <<: *base
          id: two
          needs: one
        - <<: [{timeout: 9s}, *base]
          id: three
          env: {<<: *env, B: "3"}
      """
    )
    #expect(workflow.steps.map(\.id) == ["one", "two", "three"])
    #expect(workflow.steps.map(\.timeout) == [.seconds(5), .seconds(5), .seconds(9)])
    #expect(workflow.steps.map(\.needs) == [[], ["one"], []])
    #expect(workflow.steps[2].environment.mapValues(\.text) == ["A": "1", "B": "3"])
    #expect(workflow.steps[1].command == .shell(Template(text: "x")))
  }

  @Test func `keeps its asterisks and its characters of private use`() throws {
    let text = "\u{F0000}*\u{F0027} * **\u{E000}"
    let workflow = try workflow("steps: [{id: a, command: \"\(text)\"}, {id: b, command: ls *.c}]")
    #expect(workflow.steps.map(\.command.text) == [text, "ls *.c"])
  }

  @Test func `may end its lines as any system does`() throws {
    let text = "steps:\n- id: a\n  command: |\n    x\n    y\n"
    for end in ["\n", "\r\n", "\r"] {
      let steps = try workflow("\u{FEFF}" + text.replacing("\n", with: end)).steps
      #expect(steps.map(\.command.text) == ["x\ny\n"])
      #expect(steps.map(\.line) == [2])
    }
  }

  @Test func `has times and amounts in the units that are usual`() throws {
    for (text, duration) in [
      ("90s", .seconds(90)), ("1h30m", .seconds(5400)), ("500ms", .milliseconds(500)),
      ("1.5s", .milliseconds(1500)), ("2d", .seconds(172_800)), ("0.001ms", .nanoseconds(1000)),
      ("1000d", .seconds(86_400_000)),
    ] as [(String, Duration)] {
      let steps = try workflow("steps: [{id: a, command: x, timeout: \(text)}]").steps
      #expect(steps[0].timeout == duration)
    }
    for (text, bytes) in [
      ("1GiB", 1 << 30), ("500MB", 500_000_000), ("2g", 2 << 30), ("1.5KiB", 1536), ("7B", 7),
      ("1 TiB", 1 << 40), ("3kb", 3000),
    ] {
      #expect(
        try workflow("resources: {m: \(text)}\nsteps: [{id: a, command: x}]").resources
          == ["m": ResourceAmount(bytes, .bytes)]
      )
    }
    for (text, rate) in [
      ("10/min", Rate(key: "k", count: 10, per: .seconds(60))),
      ("1/30s", Rate(key: "k", count: 1, per: .seconds(30))),
      ("5 / hour", Rate(key: "k", count: 5, per: .seconds(3600))),
    ] {
      let steps = try workflow("steps: [{id: a, command: x, rate: {k: \(text)}}]").steps
      #expect(steps[0].rates == [rate])
    }
  }

  @Test func `gets variables of the step before the workflow's before the runner's`() throws {
    let workflow = try workflow(
      """
      env: {A: "w-${{ env.A }}", B: "w${{ run.id }}"}
      steps:
        - {id: x, command: x, outputs: [v]}
        - id: s
          needs: x
          matrix: {os: [linux]}
          command: x
          env: {A: "s-${{ env.A }}", C: "${{ matrix.os }} ${{ steps.x.v }} ${{ env.B }}"}
      """
    )
    let values = try workflow.values(
      for: workflow.steps[1],
      inherited: ["A": "r", "Z": "z"],
      outputs: ["x": ["v": "1"]],
      run: "R"
    )
    #expect(values.environment == ["A": "s-w-r", "B": "wR", "C": "linux 1 wR", "Z": "z"])
    #expect(values.matrix == ["os": "linux"])
  }

  @Test func `writes the beginning of a place in quotes`() throws {
    let workflow = try workflow("steps: [{id: a, command: \"x ${{ '${{' }} a }} ${{ '$' }}\"}]")
    #expect(workflow.steps[0].command == .shell(Template(text: "x ${{ a }} $")))
  }

  @Test(
    arguments: [
      ("failed(a) || failed(b) && failed(c)", ["a"], true),
      ("(failed(a) || failed(b)) && failed(c)", ["a"], false),
      ("!failed(a) && !failed(b)", ["c"], true),
      ("!(failed(a) || failed(b))", ["b"], false),
      ("!!failed(a)", ["a"], true),
      ("succeeded(a)||skipped(a)", [], false),
      (" failed( a )\t&&\nfailed(b) ", ["a", "b"], true),
    ] as [(String, [String], Bool)]
  )
  func `is an expression of outcomes`(text: String, failed: [String], holds: Bool) throws {
    let file = """
      steps:
        - {id: a, command: x}
        - {id: b, command: x}
        - {id: c, command: x}
        - id: d
          needs: [a, b, c]
          command: x
          when: {outcome: "\(text.replacing("\n", with: "\\n").replacing("\t", with: "\\t"))"}
      """
    guard case .outcome(let expression)? = try workflow(file).steps[3].when.first else {
      Issue.record("no outcome")
      return
    }
    #expect(expression.holds { failed.contains($0) ? .failed : nil } == holds)
    #expect(Set(expression.steps).isSubset(of: ["a", "b", "c"]))
  }

  @Test(arguments: OutcomeExpression.Outcome.allCases)
  func `is an outcome of any combination, and success of all`(
    outcome: OutcomeExpression.Outcome
  ) throws {
    let file = """
      steps:
        - {id: t, command: x, matrix: {n: [1, 2, 3]}}
        - {id: d, needs: t, command: x, when: {outcome: \(outcome)(t)}}
      """
    guard case .outcome(let expression)? = try workflow(file).steps[3].when.first else {
      Issue.record("no outcome")
      return
    }
    #expect(expression.holds { _ in outcome })
    #expect(!expression.holds { _ in nil })
    #expect(expression.holds { $0 == "t@2" ? outcome : nil } == (outcome != .succeeded))
    #expect(expression.steps == ["t@1", "t@2", "t@3"])
  }
}
