import Testing

@testable import WorkflowRunner

@Suite struct LineSplitterTests {
  private func lines(_ pieces: [String], isOver: Bool = true) -> [String] {
    var splitter = LineSplitter()
    var lines: [String] = []
    for piece in pieces { splitter.add(piece.utf8) { lines.append($0) } }
    if isOver { splitter.end { lines.append($0) } }
    return lines
  }

  @Test func `Lines come whole, in whatever pieces they are`() {
    let text = "one\n\ntwö\nthree"
    for end in text.utf8.indices {
      let pieces = [String(text.utf8[..<end]), String(text.utf8[end...])].compactMap { $0 }
      if pieces.count == 2 { #expect(lines(pieces) == ["one", "", "twö", "three"]) }
    }
    #expect(lines([]).isEmpty)
    #expect(lines(["a\n"]) == ["a"])
    #expect(lines(["a"], isOver: false).isEmpty)
  }

  @Test func `Of a line that was written over the last text counts`() {
    #expect(lines(["10 %\r50 %\r100 %\ndone\r\n"]) == ["100 %", "done"])
    #expect(lines(["10 %\r"]) == ["10 %"])
  }

  @Test func `A long line is cut between two characters`() {
    let limit = LineSplitter.limit
    let long = String(repeating: "ä", count: limit) + "\nnext\n"
    #expect(lines([long]) == [String(repeating: "ä", count: limit / 2) + "…", "next"])
    let odd = "x" + long
    #expect(lines([odd]).first == "x" + String(repeating: "ä", count: limit / 2 - 1) + "…")
    let exact = String(repeating: "x", count: limit)
    #expect(lines([exact + "\n" + exact + "x\n"]) == [exact, exact + "…"])
  }

  @Test func `Bytes that aren't text don't end a line`() {
    var splitter = LineSplitter()
    var lines: [String] = []
    splitter.add([0xFF, 0xC3, 10, 0x80, 0, 10]) { lines.append($0) }
    #expect(lines == ["\u{FFFD}\u{FFFD}", "\u{FFFD}\0"])
  }
}
