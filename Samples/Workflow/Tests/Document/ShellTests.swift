import Foundation
import Testing
import WorkflowDocument

/// Values get into commands as words, whatever is in them.
@Suite struct `A value in a shell's command` {
  private func command(_ text: String) throws -> Command {
    var values = "{os: [x]}"
    values = text.contains("matrix") ? values : "{none: [x]}"
    let quoted = text.split(separator: "\n", omittingEmptySubsequences: false)
      .map { "      \($0)" }.joined(separator: "\n")
    let file = "steps:\n  - id: a\n    matrix: \(values)\n    command: |\n\(quoted)\n"
    return try WorkflowFile.workflow(from: file, name: "f").steps[0].command
  }

  /// What a real shell prints.
  private func output(of text: String, os value: String) throws -> String {
    let filled = try command(text).filled(TemplateValues(matrix: ["os": value], run: "r1"))
    guard case .shell(let text, let variables) = filled else { return "" }
    let process = Process()
    process.executableURL = URL(filePath: "/bin/sh")
    process.arguments = ["-c", text]
    process.environment = variables
    let pipe = Pipe()
    process.standardOutput = pipe
    try process.run()
    let data = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return String(decoding: data, as: UTF8.self)
  }

  static let attacks = [
    "'; echo stolen; '", "\"; echo stolen; \"", "$(echo stolen)", "`echo stolen`", "; echo stolen",
    "a  b\n*", "${HOME}", "\\", "END\necho stolen", "-n", "'; rm -rf /nothing", "})) ; echo stolen",
    "!x", "#", "",
  ]

  static let contexts: [(text: String, shown: String)] = [
    ("printf '[%s]' ${{ matrix.os }}", "[V]"),
    ("printf '[%s]' a${{ matrix.os }}b", "[aVb]"),
    ("printf '[%s]' \"a ${{ matrix.os }} b\"", "[a V b]"),
    ("printf '[%s]' 'a ${{ matrix.os }} b'", "[a V b]"),
    ("printf \"[$(printf '%s.' ${{ matrix.os }})]\"", "[V.]"),
    ("printf '[%s]' \"$(printf '%s.' \"${{ matrix.os }}\")\"", "[V.]"),
    ("printf '[%s]' \"${NONE:-${{ matrix.os }}}\"", "[V]"),
    ("printf '[%s]' ${NONE:-${{ matrix.os }}}", "[V]"),
    ("x=${{ matrix.os }}; printf '[%s]' \"$x\"", "[V]"),
    ("# it's ${{ matrix.os }}\nprintf '[%s]' ${{ matrix.os }}", "[V]"),
    ("cat <<END\n'${{ matrix.os }}'.\nEND\nprintf '[%s]' ${{ matrix.os }}", "'V'.\n[V]"),
    ("cat <<-'A' <<B\n\t'\n\tA\n\"${{ matrix.os }}\nB\nprintf '[%s]' ${{ matrix.os }}", "\"V\n[V]"),
    ("if (true); then printf '[%s]' ${{ matrix.os }}; fi", "[V]"),
    ("printf '[%s]' \"a \\${{ matrix.os }} b\"", "[a \\V b]"),
    ("echo it\\'s; printf '[%s]' ${{ matrix.os }}", "it's\n[V]"),
    (
      "printf '[%s]' \"costs $${{ matrix.os }}\" $${{ matrix.os }} '$${{ matrix.os }}'",
      "[costs $V][$V][$V]"
    ),
    ("cat <<END\n$${{ matrix.os }}.\nEND\nprintf '[%s]' ${{ matrix.os }}", "$V.\n[V]"),
    ("printf '[%s]' \"`printf '%s.' ${{ matrix.os }}`\"", "[V.]"),
  ]

  @Test(arguments: attacks)
  func `is a word in every place of a program`(value: String) throws {
    for (text, shown) in Self.contexts {
      // A substitution of commands drops line feeds at its end, and none of the values has one.
      let expected = shown.replacing("V", with: value)
      let printed = try output(of: text, os: value)
      #expect(printed == expected, "\(text)")
    }
  }

  @Test func `is a number in arithmetic`() throws {
    #expect(
      try output(of: "echo $(( ${{ matrix.os }} * (2 + 1) )) ${{ run.id }}", os: "14") == "42 r1\n"
    )
  }

  @Test func `has a variable that says what it is`() throws {
    let text = "a ${{ matrix.os }} \"${{ run.id }}\" '${{ env.A_B }}' ${{ matrix.os }}"
    let values = TemplateValues(
      matrix: ["os": "'; rm -rf /"],
      environment: ["A_B": "\"$(x)"],
      run: "r"
    )
    #expect(
      try command(text).filled(values)
        == .shell(
          """
          a "${WORKFLOW_matrix_os}" "${WORKFLOW_run_id}" ''"${WORKFLOW_env_A_B}"'' \
          "${WORKFLOW_matrix_os}"

          """,
          variables: [
            "WORKFLOW_matrix_os": "'; rm -rf /", "WORKFLOW_run_id": "r",
            "WORKFLOW_env_A_B": "\"$(x)",
          ]
        )
    )
  }

  @Test func `has a variable of its own where two names look the same`() throws {
    let shell = ShellText(
      Template([
        .output(step: "a-b", name: "c"), .output(step: "a.b", name: "c"),
        .output(step: "a", name: "b_c"),
      ])
    )
    #expect(
      shell.variables.map(\.name) == [
        "WORKFLOW_steps_a_b_c", "WORKFLOW_steps_a_b_c_2", "WORKFLOW_steps_a_b_c_3",
      ]
    )
  }

  @Test(arguments: [
    ("sh -c \"ls ${{ run.id }}\"", "sh"), ("x=1; /bin/bash -eu -c 'ls ${{ run.id }}'", "bash"),
    ("a && (eval ls ${{ run.id }})", "eval"), ("[dash, -c, \"ls ${{ run.id }}\"]", "dash"),
    ("sh -c \"echo \\\"a\\\"; ls ${{ run.id }}\"", "sh"),
    ("sh -c 'ls \"$1\"' sh ${{ run.id }}", nil), ("eval x; ls ${{ run.id }}", nil),
    ("[sh, -c, \"ls $1\", sh, \"${{ run.id }}\"]", nil), ("crash -c ${{ run.id }}", nil),
    ("bash -o pipefail -c \"ls ${{ run.id }}\"", "bash"), ("su -c \"ls ${{ run.id }}\"", "su"),
    ("trap \"echo ${{ run.id }}\" EXIT", "trap"), ("let x=${{ run.id }}", "let"),
    ("echo $((1 + ${{ run.id }}))", "$((…))"), ("echo $((1 + 2)) ${{ run.id }}", nil),
    ("sh -c \"ls\"; ls \"${{ run.id }}\"", nil), ("[sh, \"${{ run.id }}\"]", nil),
  ])
  func `is seen where a second shell reads it as a program`(text: String, reader: String?) throws {
    let line = text.hasPrefix("[") ? text : "|\n      \(text)"
    let file = "steps:\n  - id: a\n    command: \(line)\n"
    let command = try WorkflowFile.workflow(from: file, name: "f").steps[0].command
    #expect(command.secondReader == reader)
  }

  @Test func `stays as it is in a list of arguments`() throws {
    let file = "steps: [{id: a, command: [echo, \"x ${{ run.id }}\"]}]"
    let command = try WorkflowFile.workflow(from: file, name: "f").steps[0].command
    #expect(
      try command.filled(TemplateValues(run: "'; rm -rf /"))
        == .arguments(["echo", "x '; rm -rf /"])
    )
  }

  @Test func `isn't filled without a value, or with one that no program can be given`() throws {
    let command = Command.shell(Template([.output(step: "a", name: "v")]))
    let missing = #expect(throws: TemplateError.self) {
      try command.filled(TemplateValues(run: "r"))
    }
    #expect(missing?.description == "the step ‘a’ gave no output ‘v’")
    let bad = #expect(throws: TemplateError.self) {
      try command.filled(TemplateValues(outputs: ["a": ["v": "x\0"]], run: "r"))
    }
    #expect(bad?.description == "the output ‘v’ of the step ‘a’ has a character U+0000")
    #expect(
      throws: TemplateError(part: .environment("NONE"), isMissing: true)
    ) {
      try Template([.text("a"), .environment("NONE")]).filled(TemplateValues(run: "r"))
    }
  }
}
