import AdvancedOperations
import AdvancedTestSupport
import Testing

@Suite struct `A duration` {
  static let examples: [(Duration, String)] = [
    (.zero, "0 ns"), (.nanoseconds(1), "1 ns"), (.nanoseconds(999), "999 ns"),
    (.nanoseconds(1_000), "1 µs"), (.nanoseconds(1_540), "1.5 µs"), (.microseconds(12), "12 µs"),
    (.nanoseconds(999_700), "1 ms"), (.milliseconds(12), "12 ms"), (.microseconds(9_960), "10 ms"),
    (.milliseconds(999), "999 ms"), (.microseconds(999_800), "1 s"),
    (.milliseconds(1_500), "1.5 s"),
    (.seconds(30), "30 s"), (.milliseconds(12_340), "12.3 s"), (.milliseconds(59_960), "1 min"),
    (.seconds(125), "2 min 5 s"), (.seconds(3_599), "59 min 59 s"), (.seconds(3_600), "1 h"),
    (.seconds(11_520), "3 h 12 min"), (.seconds(86_399), "1 d"), (.seconds(97_200), "1 d 3 h"),
    (.seconds(-30), "-30 s"), (.milliseconds(-1_500), "-1.5 s"), (.seconds(60), "1 min"),
    (.nanoseconds(1_550), "1.6 µs"), (.nanoseconds(99_900), "100 µs"),
    (.milliseconds(9_999), "10 s"), (.milliseconds(59_999), "1 min"), (.seconds(259_200), "3 d"),
  ]

  @Test(arguments: examples)
  func `a duration is written in readable units`(example: (Duration, String)) {
    #expect(example.0.readable == example.1)
  }

  @Test func `the longest durations can be written without a trap`() {
    #expect(Duration.seconds(Int64.max).readable.contains("d"))
    #expect(Duration.seconds(Int64.min + 1).readable.hasPrefix("-"))
  }
}
