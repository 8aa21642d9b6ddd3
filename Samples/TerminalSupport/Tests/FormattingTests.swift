import TerminalSupport
import Testing

@Suite struct `Formats of text` {
  @Test(arguments: [
    (0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567"), (-1_880, "-1,880"),
  ])
  func `of numbers have commas between thousands`(number: Int, text: String) {
    #expect(number.grouped == text)
  }

  @Test func `of long texts are cut at the end or inside`() {
    #expect("abcdefghij".cut(to: 10) == "abcdefghij")
    #expect("abcdefghij".cut(to: 9) == "abcdefgh…")
    #expect("abcdefghij".cutInside(to: 10) == "abcdefghij")
    #expect("abcdefghij".cutInside(to: 9) == "abc…fghij")
  }
}
