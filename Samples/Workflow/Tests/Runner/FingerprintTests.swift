import Foundation
import Testing
import WorkflowDocument
import WorkflowRunner

@Suite struct `The fingerprint of a workflow` {
  private static let text = """
    name: release
    env: {PROGRAM: hello, KIND: "${{ run.id }}"}
    resources: {cpu: 2, memory: 1GiB}
    steps:
      - {id: a, command: make, outputs: [version, size]}
      - id: b
        needs: a
        command: [pack, "${{ matrix.kind }}", last]
        matrix: {kind: [tar, zip]}
        when: {exists: README.md}
        require: {newer: {inputs: x, outputs: y}}
        exclusive: database
        uses: {cpu: 1, memory: 128MiB}
        rate: {checks: 8/s, looks: 2/s}
        retry: {attempts: 3, delay: 2s, total: 1m}
        timeout: 30s
        on-rollback: rm pack
        env: {LEVEL: 9}
        cwd: build
    """

  private func fingerprint(_ text: String) throws -> String {
    WorkflowFingerprint.text(of: try WorkflowFile.workflow(from: text, name: "file"))
  }

  @Test(arguments: [
    ("release", "other"), ("PROGRAM: hello", "PROGRAM: hallo"), ("PROGRAM", "PROGRAMS"),
    ("cpu: 2,", "cpu: 3,"), ("1GiB", "1025MiB"), ("id: a", "id: c"),
    ("command: make", "command: [make]"),
    ("[version, size]", "[size, version]"), ("needs: a", "needs: []"), ("pack,", "packs,"),
    (", last]", "]"), ("[tar, zip]", "[tar, gz]"), ("README.md", "readme.md"),
    ("x, outputs: y", "y, outputs: x"),
    ("when: {exists", "when: {missing"), ("exclusive: database", "exclusive: disk"),
    ("cpu: 1,", "cpu: 2,"),
    ("128MiB", "127MiB"), ("checks:", "calls:"), ("8/s", "9/s"), ("8/s", "8/min"),
    ("attempts: 3", "attempts: 4"), ("delay: 2s", "delay: 2001ms"), ("total: 1m", "total: 2m"),
    ("retry: {attempts: 3, delay: 2s, total: 1m}", "retry: 3"), ("timeout: 30s", "timeout: 31s"),
    ("on-rollback: rm pack", "on-rollback: rm packs"), ("LEVEL: 9", "LEVEL: 8"),
    ("cwd: build", "cwd: ."),
  ])
  func `is another one for each difference`(old: String, new: String) throws {
    // What needs the renamed step has its name as well.
    let names = old == "id: a" ? ("needs: a", "needs: c") : ("", "")
    let changed = Self.text.replacing(old, with: new).replacing(names.0, with: names.1)
    #expect(changed != Self.text)
    #expect(try fingerprint(changed) != fingerprint(Self.text))
  }

  @Test func `is the same in another order, with other lines and other words of YAML`() throws {
    let steps = try #require(Self.text.split(separator: "steps:\n").last)
    let second = try #require(steps.range(of: "  - id: b"))
    let reordered = """
      # why
      resources: {memory: 1GiB, cpu: 2}
      env: {KIND: '${{ run.id }}', PROGRAM: "hello"}
      steps:
      \(steps[second.lowerBound...].replacing("checks: 8/s, looks: 2/s", with: "looks: 2/s, checks: 8/s"))

      \(steps[..<second.lowerBound])
      name: release
      """
    #expect(try fingerprint(reordered) == fingerprint(Self.text))
  }

  @Test func `is the same whatever the order of combinations that others need`() throws {
    func text(_ kinds: String) -> String {
      """
      steps:
        - {id: a, matrix: {kind: [\(kinds)]}, command: x}
        - {id: b, needs: a, command: y}
      """
    }
    #expect(try fingerprint(text("tar, zip")) == fingerprint(text("zip, tar")))
    #expect(try fingerprint(text("tar, zip")) != fingerprint(text("tar")))
  }

  @Test(arguments: [
    ("{exists: [x, y], missing: z}", "{missing: z, exists: [x, y]}", true),
    ("{env: {A: 1, B: 2}}", "{env: {B: 2, A: 1}}", true),
    ("[{exists: x}, {exists: y}]", "[{exists: y}, {exists: x}]", true),
    ("{exists: [x, y], missing: z}", "{exists: [x, z], missing: y}", false),
    ("{exists: x, missing: y}", "{exists: y, missing: x}", false),
  ])
  func `is the same whatever the order of conditions`(
    one: String,
    other: String,
    isSame: Bool
  ) throws {
    for key in ["when", "require"] {
      let texts = [one, other].map { "steps: [{id: a, command: x, \(key): \($0)}]" }
      #expect(try (fingerprint(texts[0]) == fingerprint(texts[1])) == isSame)
      let workflows = try texts.map { try WorkflowFile.workflow(from: $0, name: "file") }
      #expect(workflows[1].differences(from: workflows[0]).isEmpty == isSame)
    }
  }

  @Test func `is the same of a value that was written and read`() throws {
    let workflow = try WorkflowFile.workflow(from: Self.text, name: "file")
    let copy = try JSONDecoder().decode(Workflow.self, from: JSONEncoder().encode(workflow))
    #expect(WorkflowFingerprint.text(of: copy) == WorkflowFingerprint.text(of: workflow))
  }

  @Test func `tells texts from where they stand`() throws {
    func steps(_ outputs: [[String]]) throws -> String {
      try fingerprint(
        "steps:\n"
          + outputs.enumerated().map { "- {id: s\($0), command: x, outputs: \($1)}" }
          .joined(separator: "\n")
      )
    }
    #expect(try steps([["a"], ["b"]]) != steps([["b"], ["a"]]))
    #expect(try steps([["a", "b"], []]) != steps([["a"], ["b"]]))
    #expect(try steps([["ab"], ["c"]]) != steps([["a"], ["bc"]]))
  }
}
