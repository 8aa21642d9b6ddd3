import ServiceSupport
import Testing

@Suite struct StrictJSONTests {
  private func flaw(_ text: String) -> StrictJSON.Flaw? {
    do throws(StrictJSON.Flaw) {
      try StrictJSON.check(text.utf8)
      return nil
    } catch {
      return error
    }
  }

  @Test(arguments: [
    (#"{"a":1,"a":2}"#, "a"), (#"{"a":1,"\u0061":2}"#, "a"),
    (#"{"lines":[{"q":1,"q":1000}]}"#, "lines[0].q"),
    (#"[{},{"a":{"b":1,"c":2,"b":3}}]"#, "[1].a.b"), (#"{"é":1,"é":2}"#, "é"),
  ])
  func `A name that an object has twice is found, however it is written`(text: String, path: String)
  {
    #expect(flaw(text) == .repeated(path: path))
  }

  @Test(arguments: [
    #"{"a":{"b":1},"b":[{"a":1},{"a":2}]}"#, "[]", "{}", " 7 ", #""a\"b""#, "[1, true, null]",
    #"{"a\\":1,"a":2}"#,
  ])
  func `JSON passes`(text: String) { #expect(flaw(text) == nil) }

  @Test(arguments: [
    #"{"a":1,}"#, "[1,]", "[,1]", "{,}", "", "{", "}", #"{"a"}"#, #"{"a":}"#, "[1 2]", #"{a:1}"#,
    "{} {}",
    "\"a\nb\"", #""\x""# + "}", #"{"a":1}}"#,
  ])
  func `What is no JSON doesn't pass`(text: String) { #expect(flaw(text) == .syntax) }

  @Test func `A text with too many levels doesn't pass`() {
    func nested(_ count: Int) -> String {
      String(repeating: "[", count: count) + String(repeating: "]", count: count)
    }
    #expect(flaw(nested(32)) == nil)
    #expect(flaw(nested(33)) == .syntax)
    #expect(flaw(String(repeating: "[", count: 60_000)) == .syntax)
  }
}
