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
