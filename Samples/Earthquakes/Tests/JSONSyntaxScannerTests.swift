import Testing

@testable import EarthquakeKit

@Suite struct `The scanner of JSON` {
  private func problem(in text: String) -> JSONSyntaxScanner.Problem? {
    JSONSyntaxScanner.firstProblem(in: Array(text.utf8))
  }

  @Test(arguments: [
    "{}", "[]", " [ 1 , 2 ] ", "null", "true", "false", "\"\"", "0", "-0", "10", "1.5", "-1.5e+10",
    "2E3", "[[[]],{}]", #"{"a":{"b":[{"c":null}]},"d":"\\\"\/\b\f\n\r\t\u00e9"}"#, "\t\r\n1\n",
    #""é 🌋""#, "\u{FEFF}{}",
  ])
  func `finds nothing wrong with correct text`(text: String) {
    #expect(problem(in: text) == nil)
  }

  @Test(arguments: [
    ("", 0, ""), ("{", 1, ""), ("[1,", 3, "[1]"), ("[1,2", 4, "[1]"),
    ("{\"a\":[{},{\"b\"", 13, "a[1].b"),
    ("{\"a\"", 4, "a"), ("{\"a\":", 5, "a"), ("{\"a\":1,", 7, ""), ("\"abc", 4, ""),
    ("\"a\\", 3, ""),
    ("\"\\u12", 5, ""), ("[tru", 4, "[0]"), ("[-", 2, "[0]"), ("[1.", 3, "[0]"), ("[1e", 3, "[0]"),
  ])
  func `finds where text ends too early`(text: String, offset: Int, path: String) {
    #expect(problem(in: text) == .init(offset: offset, path: path))
    #expect(offset == text.utf8.count)
  }

  @Test(arguments: [
    ("{]", 1, ""), ("[}", 1, "[0]"), ("[1 2]", 3, "[0]"), ("[1,}", 3, "[1]"), ("{\"a\" 1}", 5, "a"),
    ("{\"a\":1,]", 7, ""), ("[[1],,2]", 5, "[1]"), ("{\"a\":]", 5, "a"), ("{a:1}", 1, ""),
    ("[01]", 2, "[0]"), ("[+1]", 1, "[0]"),
    ("[.5]", 1, "[0]"), ("[1.]", 3, "[0]"), ("[1e]", 3, "[0]"), ("[trux]", 4, "[0]"),
    ("[\"\\x\"]", 3, "[0]"), ("[\"\\u12g4\"]", 6, "[0]"), ("[\"a\nb\"]", 3, "[0]"),
    ("{} {}", 3, ""), ("[NaN]", 1, "[0]"), ("{\"a\":{\"b\":]}}", 10, "a.b"),
  ])
  func `finds what breaks the grammar`(text: String, offset: Int, path: String) {
    #expect(problem(in: text) == .init(offset: offset, path: path))
  }

  @Test(arguments: [
    ("[1,]", 3, "", FeedError.SyntaxFault.extraComma), ("{\"a\":1,}", 7, "", .extraComma),
    ("{\"a\":[1, \n]}", 10, "a", .extraComma), ("[1e400]", 1, "[0]", .numberTooLarge),
    ("[-1e400]", 1, "[0]", .numberTooLarge), ("[\"\\ud800\"]", 2, "[0]", .halfCharacter),
    ("[\"\\ud83d\\n\"]", 2, "[0]", .halfCharacter),
  ])
  func `finds which rule is broken`(
    text: String,
    offset: Int,
    path: String,
    fault: FeedError.SyntaxFault
  ) {
    #expect(problem(in: text) == .init(offset: offset, path: path, fault: fault))
  }

  @Test(arguments: ["[1e308]", "[1e-400]", "[\"\\ud83d\\ude00\"]", "[\"\\uD83D\\uDE00\\u00e9\"]"])
  func `finds nothing wrong with extreme values`(text: String) { #expect(problem(in: text) == nil) }

  @Test func `is not afraid of depth`() {
    let depth = 100_000
    let text = String(repeating: "[", count: depth)
    #expect(problem(in: text)?.offset == depth)
    #expect(problem(in: text + String(repeating: "]", count: depth)) == nil)
  }
}
