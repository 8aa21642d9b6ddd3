import TerminalSupport
import Testing

@Suite struct `A text between quotes` {
  @Test func `has escapes for what would end it or begin another line`() {
    #expect("a \"b\" \\ \n\r\t é 🧪".doubleQuoted { _ in nil } == #""a \"b\" \\ \n\r\t é 🧪""#)
    #expect("".doubleQuoted { _ in nil } == "\"\"")
  }

  @Test func `has escapes for what else is asked for`() {
    let text = "a\u{85}\u{1F600}"
    #expect(text.doubleQuoted { $0 == "a" ? nil : $0.jsonEscape } == #""a\u0085\ud83d\ude00""#)
    #expect(text.doubleQuoted { $0 == "a" ? nil : $0.yamlEscape } == #""a\U00000085\U0001f600""#)
  }
}
