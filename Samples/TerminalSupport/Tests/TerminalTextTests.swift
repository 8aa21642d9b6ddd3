import TerminalSupport
import Testing

@Suite struct `Text that the program writes` {
  private let evil = "\u{1B}[31mred\u{9B}0m\u{202E}"

  @Test func `has the program's own colours in it, and none of the data`() {
    let text: TerminalText = "\u{1B}[1m\(evil)\u{1B}[0m\n"
    #expect(text.text == "\u{1B}[1m�[31mred�0m�\u{1B}[0m\n")
  }

  @Test func `filters errors, and keeps their lines`() {
    let error = StreamProblem(path: evil, reason: "no\nluck")
    let text: TerminalText = "Error: \(error)"
    #expect(text.text == "Error: The file �[31mred�0m� cannot be written: no\nluck.")
  }

  @Test func `can be put together from such texts`() {
    let line: TerminalText = "\u{1B}[K\(evil)"
    #expect(("\(line)\n" as TerminalText) == line + "\n")
  }
}
