/// The ratios that must not be exceeded, as they are stored in a file.
package struct Thresholds: Codable, Hashable, Sendable {
  /// The part by which noise may lift a ratio above its threshold: 0.25 is a quarter.
  package var margin: Double
  /// The highest ratios, by the name of the comparison.
  package var ratios: [String: Double]

  package init(margin: Double = 0.25, ratios: [String: Double]) {
    self.margin = margin
    self.ratios = ratios
  }

  /// What became of one threshold.
  package struct Finding: Hashable, Sendable {
    package enum Verdict: Hashable, Sendable {
      /// Not above the threshold.
      case holds
      /// Above it, and noise could explain that.
      case withinMargin
      /// Above it by more than noise explains.
      case exceeded
      /// This run has not measured it.
      case notMeasured
    }

    package var name: String
    package var threshold: Double
    package var measured: RatioSummary?
    package var verdict: Verdict
  }

  /// Compares what was measured, in the order of names.
  ///
  /// A threshold is exceeded when the median is above it by more than the margin *and* three of
  /// four pairs are above it: a few slow runs are no regression.
  package func check(_ measured: [String: RatioSummary]) -> [Finding] {
    ratios.sorted { $0.key < $1.key }.map { name, threshold in
      guard let summary = measured[name] else {
        return Finding(name: name, threshold: threshold, measured: nil, verdict: .notMeasured)
      }
      let verdict: Finding.Verdict =
        if summary.median <= threshold {
          .holds
        } else if summary.median <= threshold * (1 + margin) || summary.lowerQuartile <= threshold {
          .withinMargin
        } else {
          .exceeded
        }
      return Finding(name: name, threshold: threshold, measured: summary, verdict: verdict)
    }
  }
}
