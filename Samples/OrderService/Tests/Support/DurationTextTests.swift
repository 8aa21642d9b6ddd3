import ServiceSupport
import Testing

@Suite struct DurationTextTests {
  @Test(arguments: [
    ("150ms", Duration.milliseconds(150)), ("2s", .seconds(2)), ("1.5s", .milliseconds(1_500)),
    ("0.1s", .milliseconds(100)), ("1m30s", .seconds(90)), ("2h", .seconds(7_200)),
    ("0s", .zero),
  ])
  func `A duration is read as people write it`(text: String, duration: Duration) {
    #expect(DurationText.duration(of: text) == duration)
  }

  @Test(arguments: [
    "", "5", "s", "-1s", "1 s", "1s ", "1.2.3s", "1e3s", "9999999999h", "5 sec", "5s5s", "5s1m",
  ])
  func `Anything else is no duration`(text: String) {
    #expect(DurationText.duration(of: text) == nil)
  }

  @Test(arguments: [
    (Duration.milliseconds(740), "740ms"), (.zero, "0ms"), (.seconds(-3), "0ms"),
    (.milliseconds(2_500), "2.5s"), (.seconds(2), "2s"), (.seconds(180), "3m"),
    (.seconds(5_400), "1.5h"),
  ])
  func `A duration is written in one unit`(duration: Duration, text: String) {
    #expect(DurationText.text(duration) == text)
  }
}
