/// The ratio of two sides, each pair of which was measured back to back.
///
/// Machines that are shared change their speed, for tens of seconds and by factors. Both sides of a
/// pair see the same speed, so that the median of the pairs' ratios is that of the sides; the ratio
/// of the minima is not, when these come from different phases.
package struct RatioSummary: Codable, Hashable, Sendable {
  package var median: Double
  package var lowerQuartile: Double
  package var upperQuartile: Double
  package var ofMinima: Double
  package var pairs: Int

  /// - Returns: nil if there are no pairs, or if one has no positive reference.
  package init?(_ pairs: [(subject: Double, reference: Double)]) {
    guard pairs.allSatisfy({ $0.reference > 0 }) else { return nil }
    let ratios = pairs.map { $0.subject / $0.reference }
    guard let median = Statistics.median(ratios),
      let lowerQuartile = Statistics.quantile(0.25, of: ratios),
      let upperQuartile = Statistics.quantile(0.75, of: ratios),
      let subject = pairs.map(\.subject).min(),
      let reference = pairs.map(\.reference).min()
    else { return nil }
    self.median = median
    self.lowerQuartile = lowerQuartile
    self.upperQuartile = upperQuartile
    ofMinima = subject / reference
    self.pairs = pairs.count
  }
}
