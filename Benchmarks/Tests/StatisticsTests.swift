import BenchmarkKit
import Foundation
import Testing

@Suite struct `Medians and growth` {
  @Test(
    arguments: [
      ([3], 3), ([1, 2], 1.5), ([9, 1, 5], 5), ([4, 1, 3, 2], 2.5), ([2, 2, 2, 100], 2),
    ] as [([Double], Double)]
  )
  func `a median is the value in the middle`(values: [Double], expected: Double) {
    #expect(Statistics.median(values) == expected)
  }

  @Test func `of nothing there is none`() {
    #expect(Statistics.median([]) == nil)
    #expect(Statistics.growthExponent([]) == nil)
    #expect(Statistics.extrapolate([], to: 5) == nil)
    #expect(RatioSummary([]) == nil)
  }

  @Test func `quantiles lie between the least and the greatest`() {
    let values = [40.0, 10, 20, 30, 50]
    #expect(Statistics.quantile(0, of: values) == 10)
    #expect(Statistics.quantile(0.25, of: values) == 20)
    #expect(Statistics.quantile(0.375, of: values) == 25)
    #expect(Statistics.quantile(1, of: values) == 50)
    #expect(Statistics.quantile(7, of: values) == 50)
  }

  @Test(arguments: [0.0, 0.5, 1, 1.05, 2, 3])
  func `an exponent is found whatever the unit`(exponent: Double) throws {
    let points = [256.0, 1_024, 4_096, 16_384].map { (size: $0, cost: 7e-9 * pow($0, exponent)) }
    let found = try #require(Statistics.growthExponent(points))
    #expect(abs(found - exponent) < 1e-9)
  }

  @Test func `one disturbed size moves an exponent a little`() throws {
    var points = [1.0, 4, 16, 64, 256].map { (size: $0, cost: $0) }
    points[2].cost *= 2
    let found = try #require(Statistics.growthExponent(points))
    #expect(abs(found - 1) < 1e-9, "the one in the middle has no lever")
    points[4].cost *= 2
    #expect(try #require(Statistics.growthExponent(points)) > 1.05)
  }

  @Test func `sizes and costs that have no logarithm are left out`() {
    #expect(Statistics.growthExponent([(0, 1), (1, 0), (-1, 1), (4, 4)]) == nil)
    #expect(Statistics.growthExponent([(4, 4), (4, 5)]) == nil)
  }

  @Test func `extrapolation continues the trend of the last two sizes`() throws {
    let quadratic = [(size: 1.0, cost: 1.0), (10, 3), (20, 12)]
    #expect(abs(try #require(Statistics.extrapolate(quadratic, to: 40)) - 48) < 1e-9)
    let alone = [(size: 10.0, cost: 3.0)]
    #expect(abs(try #require(Statistics.extrapolate(alone, to: 40)) - 12) < 1e-9)
    let assumed = Statistics.extrapolate(alone, to: 40, assumedExponent: 2)
    #expect(abs(try #require(assumed) - 48) < 1e-9)
  }
}

@Suite struct `Ratios` {
  /// The machine is twice as slow in some pairs; the subject always takes a third.
  @Test func `survive a machine that changes its speed`() throws {
    let speeds = [1.0, 1, 2, 2, 1, 2, 2]
    let summary = try #require(RatioSummary(speeds.map { (subject: $0, reference: 3 * $0) }))
    #expect(abs(summary.median - 1 / 3) < 1e-12)
    #expect(abs(summary.upperQuartile - summary.lowerQuartile) < 1e-12)
    #expect(summary.pairs == 7)
  }

  @Test func `the one of the minima does not`() throws {
    // The subject's pairs were all slow but one; its reference never met the fast phase.
    let summary = try #require(RatioSummary([(2, 4), (1, 4), (2, 4)]))
    #expect(summary.median == 0.5)
    #expect(summary.ofMinima == 0.25)
  }

  @Test func `need references that took time`() {
    #expect(RatioSummary([(1, 0)]) == nil)
  }
}
