import Testing
import WorkflowDocument

/// The line and the caret under it.
@Suite struct `The text of a mistake` {
  private func text(_ source: String, _ line: Int, _ column: Int) -> [String] {
    Diagnostic(line: line, column: column, message: "m").text(file: "f", source: source)
      .split(separator: "\n").map(String.init)
  }

  @Test func `has its caret right after tabs`() {
    #expect(text("a:\tb\tc", 1, 6) == ["f:1:6: error: m", " 1 | a:  b   c", "   |         ^"])
  }

  @Test func `has its caret right after wide characters, accents and emoji`() {
    #expect(text("日本: x", 1, 5) == ["f:1:5: error: m", " 1 | 日本: x", "   |       ^"])
    #expect(text("e\u{301}: x", 1, 5) == ["f:1:5: error: m", " 1 | e\u{301}: x", "   |    ^"])
    #expect(text("👩‍👧🇩🇪❤️ x", 1, 9) == ["f:1:9: error: m", " 1 | 👩‍👧🇩🇪❤️ x", "   |        ^"])
  }

  @Test func `has its caret behind the end, in a line of its number, or none`() {
    #expect(text("abc", 1, 4) == ["f:1:4: error: m", " 1 | abc", "   |    ^"])
    #expect(text("a\r\nb\r\nc", 3, 1) == ["f:3:1: error: m", " 3 | c", "   | ^"])
    #expect(text("a", 7, 1) == ["f:7:1: error: m"])
    #expect(text("", 1, 1) == ["f:1:1: error: m", " 1 |", "   | ^"])
  }

  @Test func `shows nothing that a terminal obeys, whichever part has it`() {
    let bad = "\u{1B}[31m\u{9B}\u{202E}\u{7}"
    let text = Diagnostic(line: 1, column: 5, message: bad, suggestion: bad)
      .text(file: bad, source: bad + "x")
    #expect(
      text == """
        �[31m���:1:5: error: �[31m���
         1 | �[31m���x
           |     ^
           help: �[31m���

        """
    )
  }

  @Test func `shows what is around the caret of a long line`() {
    let line = String(repeating: "a", count: 5000) + "HERE" + String(repeating: "b", count: 5000)
    let lines = text(line, 1, 5001)
    let shown = Array(lines[1])
    #expect(shown.count <= 105)
    let caret = Array(lines[2]).firstIndex(of: "^")
    #expect(caret.map { String(shown[$0..<($0 + 4)]) } == "HERE")
    #expect(lines[1].hasPrefix(" 1 | …a"))
    #expect(lines[1].hasSuffix("b…"))
    let wide = text(String(repeating: "日", count: 300) + "!", 1, 301)
    #expect(Array(wide[1]).last == "!")
    // Each of the letters before it takes two columns.
    let letters = wide[1].count { $0 == "日" }
    #expect(wide[2] == "   | " + String(repeating: " ", count: 2 * letters + 1) + "^")
  }

  @Test func `has colours if it should`() throws {
    let error = #expect(throws: WorkflowFile.Mistakes.self) {
      try WorkflowFile.workflow(from: "stpes: []", name: "f")
    }
    let text = try #require(error?.text(file: "f.yml", isColoured: true))
    #expect(text.contains("\u{1B}[1;31merror:\u{1B}[0m"))
    #expect(text.contains("\u{1B}[1;32m^\u{1B}[0m"))
    #expect(error?.text(file: "f.yml").contains("\u{1B}") == false)
  }

  @Test func `is counted, and cut where there are too many`() throws {
    let steps = (0..<60).map { "  - {id: s\($0), command: x, nedes: y}\n" }.joined()
    let error = #expect(throws: WorkflowFile.Mistakes.self) {
      try WorkflowFile.workflow(from: "steps:\n" + steps, name: "f")
    }
    #expect(error?.diagnostics.count == 60)
    let text = try #require(error?.text(file: "f.yml", limit: 2))
    #expect(text.hasSuffix("\n60 mistakes in f.yml, the first 2 of which are shown\n"))
    #expect(text.split(separator: "\n").count == 9)
    #expect(
      error?.description.split(separator: "\n").first
        == "line 2: a step has no key ‘nedes’ (did you mean ‘needs’?)"
    )
  }
}
