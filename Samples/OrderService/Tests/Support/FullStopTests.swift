import ServiceSupport
import Testing

@Suite struct FullStopTests {
  @Test func `An error that is a sentence gives its sentence no second full stop`() {
    #expect("put it back, or start again.".withoutFullStop == "put it back, or start again")
    #expect("no answer".withoutFullStop == "no answer")
    #expect("".withoutFullStop == "")
  }
}
