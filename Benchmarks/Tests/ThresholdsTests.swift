import BenchmarkKit
import Foundation
import Testing

@Suite struct `Stored thresholds` {
  private let thresholds = Thresholds(margin: 0.25, ratios: ["chain": 0.4])

  private func verdict(_ ratios: [Double]) throws -> Thresholds.Finding.Verdict {
    let summary = try #require(RatioSummary(ratios.map { (subject: $0, reference: 1) }))
    return try #require(thresholds.check(["chain": summary]).first).verdict
  }

  @Test func `hold up to themselves`() throws {
    #expect(try verdict([0.4, 0.4, 0.4]) == .holds)
    #expect(try verdict([0.1, 0.3, 9]) == .holds)
  }

  @Test func `are not exceeded within the margin`() throws {
    #expect(try verdict([0.49, 0.49, 0.49]) == .withinMargin)
    #expect(try verdict([0.5, 0.5, 0.5]) == .withinMargin)
  }

  @Test func `are exceeded beyond it`() throws {
    #expect(try verdict([0.51, 0.51, 0.51]) == .exceeded)
  }

  @Test func `are not exceeded if a quarter of the pairs is not above`() throws {
    #expect(try verdict([0.3, 0.4, 0.9, 0.9, 0.9]) == .withinMargin)
    #expect(try verdict([0.3, 0.41, 0.9, 0.9, 0.9]) == .exceeded)
  }

  @Test func `say what was not measured, in the order of names`() throws {
    let many = Thresholds(ratios: ["b": 1, "c": 1, "a": 1])
    let summary = try #require(RatioSummary([(1, 1)]))
    let findings = many.check(["b": summary, "unknown": summary])
    #expect(findings.map(\.name) == ["a", "b", "c"])
    #expect(findings.map(\.verdict) == [.notMeasured, .holds, .notMeasured])
  }

  @Test func `are the same after they were stored`() throws {
    let data = try JSONEncoder().encode(thresholds)
    #expect(try JSONDecoder().decode(Thresholds.self, from: data) == thresholds)
  }
}
