import Testing

@testable import TerminalSupport

@Suite struct `Text for a terminal` {
  /// Every character that moves the cursor, changes colours, ends a line or turns text around.
  static let harmful: [Unicode.Scalar] =
    [0x00...0x1F, 0x7F...0x9F, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069]
    .flatMap { $0.compactMap(Unicode.Scalar.init) } + ["\u{61C}"]

  @Test(arguments: harmful)
  func `has no character in it that it would obey`(scalar: Unicode.Scalar) {
    let text = "a\(scalar)b".printable()
    #expect(text == "a b" || text == "a\u{FFFD}b")
    #expect("a\(scalar)b".printable(keepsLines: true) == (scalar == "\n" ? "a\nb" : text))
  }

  @Test func `is what it was otherwise`() {
    for text in ["", "Tōhoku, Japan", "東京", "مصر", "שלום", "🇯🇵👩‍🔬", "e\u{301}", "می‌خواهم"] {
      #expect(text.printable() == text)
    }
  }

  @Test func `keeps white space as spaces, and shows that there was something else`() {
    #expect("a\tb\r\nc".printable() == "a b  c")
    #expect("\u{1B}[31mred\u{9B}0m".printable() == "\u{FFFD}[31mred\u{FFFD}0m")
    #expect("\u{1B}]0;title\u{7}".printable() == "\u{FFFD}]0;title\u{FFFD}")
  }

  @Test func `is quoted in short`() {
    #expect("short".excerpt() == "short")
    #expect(String(repeating: "x", count: 40).excerpt() == String(repeating: "x", count: 40))
    #expect(String(repeating: "x", count: 41).excerpt().count == 40)
    #expect("a\nb".excerpt() == "a b")
  }

  @Test func `is quoted in short even if one letter is long`() {
    let letter = "e" + String(repeating: "\u{301}", count: 100_000)
    #expect(letter.count == 1)
    for text in [letter, letter + letter, "x" + letter, String(repeating: letter, count: 50)] {
      for cut in [text.excerpt(), text.cut(to: 40), text.cutInside(to: 40)] {
        #expect(cut.count <= 40)
        #expect(cut.unicodeScalars.count <= 330)
        #expect(cut.contains("…"))
      }
    }
  }
}
