import BenchmarkKit
import Foundation
import Testing

@Suite struct `The smallest effective granularity` {
  private func curve(_ points: [(Double, Double)]) -> EfficiencyCurve {
    EfficiencyCurve(points.map { .init(granularity: $0.0, efficiency: $0.1) })
  }

  private func value(_ threshold: EfficiencyCurve.Threshold) -> Double? {
    if case .at(let value) = threshold { value } else { nil }
  }

  @Test func `lies on the logarithm between two points`() throws {
    let found = value(curve([(1, 0.4), (4, 0.6)]).minimumGranularity())
    #expect(abs(try #require(found) - 2) < 1e-12)
  }

  @Test func `is a measured point if that is exactly efficient enough`() throws {
    let found = value(curve([(1, 0.2), (2, 0.5), (4, 0.9)]).minimumGranularity())
    #expect(abs(try #require(found) - 2) < 1e-12)
  }

  @Test func `does not depend on the order of the points`() {
    let points = [(8.0, 0.8), (1.0, 0.1), (2.0, 0.3), (4.0, 0.6)]
    #expect(
      curve(points).minimumGranularity() == curve(points.reversed()).minimumGranularity()
    )
  }

  /// Whoever falls below 50 % again has not reached it for good.
  @Test func `counts from the last point that is too low`() throws {
    let found = value(
      curve([(1, 0.6), (2, 0.4), (4, 0.6)]).minimumGranularity()
    )
    #expect(try #require(found) > 2)
  }

  @Test func `is said to be outside of what was measured`() {
    #expect(curve([(1, 0.6), (2, 0.7)]).minimumGranularity() == .below(1))
    #expect(curve([(1, 0.1), (2, 0.2)]).minimumGranularity() == .above(2))
    #expect(curve([]).minimumGranularity() == .unknown)
  }

  @Test func `other efficiencies can be requested`() throws {
    let found = value(curve([(1, 0.2), (100, 1)]).minimumGranularity(efficiency: 0.6))
    #expect(abs(try #require(found) - 10) < 1e-9)
  }

  @Test func `an efficiency is interpolated as well`() throws {
    let measured = curve([(1, 0.2), (100, 1)])
    #expect(abs(try #require(measured.efficiency(at: 10)) - 0.6) < 1e-12)
    #expect(measured.efficiency(at: 1) == 0.2)
    #expect(measured.efficiency(at: 0.5) == nil)
    #expect(measured.efficiency(at: 101) == nil)
  }
}
