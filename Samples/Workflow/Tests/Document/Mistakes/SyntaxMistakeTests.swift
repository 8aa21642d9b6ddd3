import Testing
import WorkflowDocument

/// What is wrong with a file as YAML.
@Suite struct `A mistake of syntax` {
  @Test(arguments: [
    FileMistake(
      "a tab indents",
      "steps:\n  - id: a\n\tcommand: x\n",
      """
      f.yml:3:1: error: a tab indents this line
       3 |     command: x
         | ^
         help: YAML takes only spaces: put two where the tab is
      """
    ),
    FileMistake(
      "quotes are never closed",
      """
      steps:
        - id: a
          command: "make
      """,
      """
      f.yml:3:14: error: the quotes that begin here are never closed
       3 |     command: "make
         |              ^
      """
    ),
    FileMistake(
      "a second colon",
      """
      steps:
        - id: a
          command: echo a: b
      """,
      """
      f.yml:3:20: error: a second ‘: ’ follows in a text that has no quotes, or the line is indented \
      too far
       3 |     command: echo a: b
         |                    ^
         help: put the text in quotes, or align the key with those above it
      """
    ),
    FileMistake(
      "a list that is never closed",
      """
      steps:
        - id: a
          needs: [b
          command: x
      """,
      """
      f.yml:4:12: error: a list in [ ] continues with ‘,’ or ends with ‘]’
       4 |     command: x
         |            ^
      """
    ),
    FileMistake(
      "a character that begins nothing",
      "steps:\n  - id: @a\n",
      """
      f.yml:2:9: error: a text can’t begin with ‘@’ in YAML
       2 |   - id: @a
         |         ^
         help: put the text in quotes
      """
    ),
    FileMistake(
      "a place without quotes inside of braces",
      "steps:\n  - {id: a, command: ${{ env.A }}}\n",
      """
      f.yml:2:23: error: keys with values in { } continue with ‘,’ or end with ‘}’
       2 |   - {id: a, command: ${{ env.A }}}
         |                       ^
         help: inside { } and [ ], a text with ‘${{ … }}’ has to be in quotes
      """
    ),
    FileMistake(
      "an asterisk without quotes",
      """
      steps:
        - id: a
          command: ls
          when: {exists: *.swift}
      """,
      """
      f.yml:4:20: error: ‘*.swift’ begins with ‘*’, which makes it an alias in YAML
       4 |     when: {exists: *.swift}
         |                    ^
         help: put it in quotes
      """
    ),
    FileMistake(
      "an alias of nothing",
      """
      base: &common {timeout: 1m}
      steps:
        - id: a
          <<: *comon
          command: x
      """,
      """
      f.yml:1:1: error: a workflow has no key ‘base’
       1 | base: &common {timeout: 1m}
         | ^
         help: keys are ‘name’, ‘parameters’, ‘env’, ‘env-file’, ‘secrets’, ‘resources’, ‘defaults’ and ‘steps’

      f.yml:4:9: error: the alias ‘*comon’ has no anchor ‘&comon’ before it
       4 |     <<: *comon
         |         ^
         help: did you mean ‘common’?
      """
    ),
    FileMistake(
      "an exclamation mark without quotes",
      """
      steps:
        - {id: b, command: x}
        - id: a
          needs: b
          command: x
          when: {outcome: !failed(b) || failed(b)}
      """,
      """
      f.yml:6:32: error: a text can’t begin with ‘|’ in YAML
       6 |     when: {outcome: !failed(b) || failed(b)}
         |                                ^
         help: a text that begins with ‘!’ has to be in quotes
      """
    ),
    FileMistake(
      "an exclamation mark that makes a tag",
      """
      steps:
        - {id: b, command: x}
        - id: a
          needs: b
          command: x
          when:
            outcome: !failed(b)
      """,
      """
      f.yml:7:16: error: ‘!failed(b)’ is a tag of YAML, which has no meaning here
       7 |       outcome: !failed(b)
         |                ^
         help: if it is a text, put all of it in quotes
      """
    ),
    FileMistake(
      "a second document",
      "steps: [{id: a, command: x}]\n---\nsteps: []\n",
      """
      f.yml:2:1: error: a second document begins here
       2 | ---
         | ^
         help: a file has one workflow: remove the ‘---’
      """
    ),
    FileMistake(
      "a control character",
      "steps:\n  - id: a\u{1}\n",
      """
      f.yml:2:10: error: a control character, U+0001, is here
       2 |   - id: a�
         |          ^
         help: remove it, or write it as an escape in double quotes: "\\x1"
      """
    ),
    FileMistake(
      "a key twice, and once more in another map",
      """
      steps:
        - id: a
          command: x
          command: y
        - id: b
          env: {A: 1, B: 2, A: 3}
          command: z
      """,
      """
      f.yml:4:5: error: the key ‘command’ occurs twice; first in line 3
       4 |     command: y
         |     ^

      f.yml:6:23: error: the key ‘A’ occurs twice; first in line 6
       6 |     env: {A: 1, B: 2, A: 3}
         |                       ^
      """
    ),
    FileMistake(
      "a key that is no text",
      "steps:\n  - id: a\n    command: x\n    env: {[a]: b}\n",
      """
      f.yml:4:11: error: a key is a text, not a list
       4 |     env: {[a]: b}
         |           ^
      """
    ),
    FileMistake(
      "a key that aims too far to the right",
      """
      name: x
        steps: []
      """,
      """
      f.yml:2:8: error: a second ‘: ’ follows in a text that has no quotes, or the line is indented \
      too far
       2 |   steps: []
         |        ^
         help: put the text in quotes, or align the key with those above it
      """
    ),
  ])
  func `is shown as a compiler shows it`(mistake: FileMistake) { mistake.check() }

  @Test(arguments: ["", "\n\n", "# only a comment\n", "---\n", "~", "\u{FEFF}"])
  func `is an empty file`(text: String) {
    let error = #expect(throws: WorkflowFile.Mistakes.self) {
      try WorkflowFile.workflow(from: text, name: "f")
    }
    #expect(
      error?.text(file: "f.yml") == """
        f.yml: error: the file is empty
           help: a workflow begins with ‘steps:’

        one mistake in f.yml

        """
    )
  }

  @Test func `a mistake names a byte that isn't UTF-8, with its place`() {
    for (bytes, line, column) in [
      (Array("name: ä\nb: ".utf8) + [0xC3, 0x28], 2, 4), ([0x80], 1, 1),
      (Array("a: 日".utf8) + [0xFF], 1, 5), (Array("a: ".utf8) + [0xE6, 0x97], 1, 4),
    ] {
      let error = #expect(throws: WorkflowFile.Mistakes.self) {
        try WorkflowFile.workflow(fromUTF8: bytes, name: "f")
      }
      #expect(error?.diagnostics.first?.line == line)
      #expect(error?.diagnostics.first?.column == column)
    }
    let error = #expect(throws: WorkflowFile.Mistakes.self) {
      try WorkflowFile.workflow(fromUTF8: [0xFF, 0xFE, 0x61, 0], name: "f")
    }
    #expect(error?.diagnostics.map(\.message) == ["the file is UTF-16, not UTF-8"])
  }

  @Test func `a mistake is found immediately in a file with a billion laughs`() {
    var text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
    for level in 1...30 {
      let aliases = Array(repeating: "*a\(level - 1)", count: 10).joined(separator: ", ")
      text += "a\(level): &a\(level) [\(aliases)]\n"
    }
    // As a key, it would be compared with others.
    text += "? *a30\n: x\n? *a29\n: y\nsteps: [{id: a, command: x}]\n"
    let error = #expect(throws: WorkflowFile.Mistakes.self) {
      try WorkflowFile.workflow(from: text, name: "f")
    }
    #expect(
      error?.diagnostics.contains {
        $0.message == "aliases stand for more than 1000000 values here" && $0.line == 6
      } == true
    )
  }

  @Test(arguments: [
    String(repeating: "[", count: 500) + String(repeating: "]", count: 500),
    String(repeating: "[", count: 200_000), String(repeating: "- ", count: 900) + "a",
    String(repeating: "{a: ", count: 900) + String(repeating: "}", count: 900),
  ])
  func `is a value that is too deep in others`(text: String) {
    let error = #expect(throws: WorkflowFile.Mistakes.self) {
      try WorkflowFile.workflow(from: "steps: \n  " + text, name: "f")
    }
    #expect(
      error?.diagnostics.contains {
        $0.message.hasPrefix("values are nested") && $0.line == 2
      } == true
    )
  }

  @Test func `is a value that anchors put deep into each other`() {
    var text = "a0: &a0 [x]\n"
    for level in 1...100 { text += "a\(level): &a\(level) [[*a\(level - 1)]]\n" }
    let error = #expect(throws: WorkflowFile.Mistakes.self) {
      try WorkflowFile.workflow(from: text, name: "f")
    }
    #expect(
      error?.diagnostics.contains { $0.message == "values are nested more than 40 deep" } == true
    )
  }
}
