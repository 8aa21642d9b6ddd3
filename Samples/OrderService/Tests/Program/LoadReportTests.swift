import ServiceSupport
import Testing

@testable import orders

/// What a load says of itself.
@Suite struct LoadReportTests {
  @Test(arguments: [(1, 1), (50, 50), (99, 99), (100, 100)])
  func `A percentile is the value that so many of a hundred don't exceed`(
    percent: Int,
    value: Int
  ) {
    let sorted = (1...100).map { Duration.seconds($0) }
    #expect(LoadReport.percentile(percent, sorted) == .seconds(value))
  }

  @Test func `A percentile of few values is one of them`() {
    #expect(LoadReport.percentile(99, [.seconds(1), .seconds(5)]) == .seconds(5))
    #expect(LoadReport.percentile(50, [.seconds(1), .seconds(5)]) == .seconds(1))
    #expect(LoadReport.percentile(50, []) == .zero)
  }

  @Test(arguments: [("lost", "doesn't know"), ("not final in time", "aren't final")])
  func `An order that was acknowledged and has no outcome is a loss, a refused one is none`(
    state: String,
    text: String
  ) {
    var report = LoadReport()
    report.outcomes = ["confirmed": 5, "failed": 1]
    report.refusals = ["422": 3]
    #expect(report.losses.isEmpty)
    #expect(report.description.contains("3 422; never acknowledged"))
    report.outcomes[state] = 2
    #expect(report.losses.count == 1)
    #expect(report.losses.first?.hasPrefix("2 orders were acknowledged") == true)
    #expect(report.losses.first?.contains(text) == true)
    #expect(report.description.hasSuffix(report.losses[0]))
  }

  @Test func `The same seed places the same orders, of items that there are`() {
    func drafts(_ seed: UInt64) -> [String] {
      var generator = SeededGenerator(seed: seed)
      return (0..<100).map { _ in "\(RandomDraft(["A", "B"], &generator))" }
    }
    #expect(drafts(1) == drafts(1))
    #expect(drafts(1) != drafts(2))
    var generator = SeededGenerator(seed: 3)
    for _ in 0..<100 {
      let draft = RandomDraft(["A", "B"], &generator)
      let skus = draft.lines.map(\.sku)
      #expect(!skus.isEmpty && Set(skus).count == skus.count && Set(skus).isSubset(of: ["A", "B"]))
    }
  }
}
