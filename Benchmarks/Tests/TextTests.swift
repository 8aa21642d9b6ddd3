import BenchmarkKit
import Testing

@Suite struct `Numbers for people` {
  @Test(arguments: [
    (0.0, "0.00 ns"), (85.2e-9, "85.2 ns"), (999.4e-9, "999 ns"), (999.9e-9, "1.00 µs"),
    (1.314e-6, "1.31 µs"), (12e-3, "12.0 ms"), (1, "1.00 s"), (150, "150 s"),
  ])
  func `times have three digits and a unit`(seconds: Double, expected: String) {
    #expect(Quantity.time(seconds) == expected)
  }

  @Test(arguments: [
    (0.0031, "0.0031"), (0.034, "0.034"), (0.335, "0.34"), (1.0, "1.00"), (18.4, "18"),
    (Double.infinity, "–"), (Double.nan, "–"),
  ])
  func `ratios have two or three`(value: Double, expected: String) {
    #expect(Quantity.ratio(value) == expected)
  }

  @Test(arguments: [
    (0, "0"), (999, "999"), (1_000, "1,000"), (1_048_576, "1,048,576"), (-1_234, "-1,234"),
  ])
  func `counts have groups of thousands`(value: Int, expected: String) {
    #expect(Quantity.count(value) == expected)
  }
}

@Suite struct `A table` {
  @Test func `aligns columns, the first to the left`() {
    var table = TextTable()
    table.add(["", "ours", "theirs"])
    table.add(["chain", "µ", "12"])
    table.add(["x"])
    #expect(table.lines(indent: 1) == ["        ours  theirs", " chain     µ      12", " x"])
  }

  @Test func `has no white space at the end of a line`() {
    var table = TextTable([.left, .left])
    table.add(["a", "b"])
    table.add(["long", ""])
    #expect(table.lines() == ["a     b", "long"])
  }

  @Test func `may be empty`() { #expect(TextTable().lines().isEmpty) }
}
