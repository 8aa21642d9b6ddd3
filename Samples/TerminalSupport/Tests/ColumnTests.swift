import TerminalSupport
import Testing

@Suite struct `The columns of text` {
  @Test(
    arguments: [
      ("", 0), ("abc", 3), ("Tōhoku", 6), ("東京", 4), ("e\u{301}", 1), ("👩‍🔬", 2), ("🇯🇵", 2),
      ("한국", 4), ("ｗ", 2), ("✓ a", 3), ("❤\u{FE0F}", 2), ("\u{200B}", 0), ("│", 1),
    ] as [(String, Int)]
  )
  func `are two for wide characters and none for marks`(text: String, columns: Int) {
    #expect(text.columnCount == columns)
  }

  @Test(arguments: 0...12)
  func `are never more than a text is cut to`(columns: Int) {
    for text in ["abcdefghijklm", "東京タワーと富士山", "a東b京c", "👩‍🔬👩‍🔬👩‍🔬👩‍🔬", ""] {
      let cut = text.cut(toColumns: columns)
      #expect(cut.columnCount <= columns)
      #expect(cut == text || cut.hasSuffix("…") || columns == 0)
      #expect((text.columnCount <= columns) == (cut == text) || columns == 0)
    }
  }

  @Test func `leave no room for a million accents`() {
    let letter = "e" + String(repeating: "\u{301}", count: 100_000)
    #expect(letter.cut(toColumns: 10).unicodeScalars.count <= 90)
  }

  @Test func `are filled up with spaces`() {
    #expect("東".padded(toColumns: 4) == "東  ")
    #expect("abcde".padded(toColumns: 4) == "abcde")
  }
}

@Suite struct `Text that colours itself` {
  @Test(
    arguments: [
      ("plain", "plain"), ("\u{1B}[31mred\u{1B}[0m", "red"), ("\u{9B}1;31mred", "red"),
      ("\u{1B}]0;title\u{7}x", "x"), ("\u{1B}]8;;http://a\u{1B}\\link", "link"),
      ("\u{1B}]0;open", "]0;open"), ("10 %\r20 %", "20 %"), ("line\r\nnext\r\n", "line\nnext\n"),
      ("a\n1\r2\nb", "a\n2\nb"), ("\u{1B}(Bx", "x"), ("\u{1B}cx", "x"), ("x\u{1B}", "x"),
      ("\u{1B}[", ""), ("100%\r", "100%"),
    ] as [(String, String)]
  )
  func `is the text without it`(text: String, plain: String) {
    #expect(text.withoutEscapeSequences == plain)
  }
}
