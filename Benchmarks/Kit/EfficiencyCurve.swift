import Foundation

/// How much of the processors' time goes into tasks, by the duration of one task.
package struct EfficiencyCurve: Codable, Hashable, Sendable {
  package struct Point: Codable, Hashable, Sendable {
    /// The time that one task takes on its own, in seconds.
    package var granularity: Double
    /// The tasks' time divided by that of all processors; 1 is perfect.
    package var efficiency: Double

    package init(granularity: Double, efficiency: Double) {
      self.granularity = granularity
      self.efficiency = efficiency
    }
  }

  /// In the order of granularity.
  package let points: [Point]

  package init(_ points: [Point]) {
    self.points = points.sorted { $0.granularity < $1.granularity }
  }

  /// Where the smallest task lies that still gives an efficiency.
  package enum Threshold: Codable, Hashable, Sendable {
    /// Between two measured points, in seconds.
    case at(Double)
    /// Even the finest measured granularity, in seconds, is efficient enough.
    case below(Double)
    /// Not even the coarsest measured granularity, in seconds, is.
    case above(Double)
    case unknown
  }

  /// The minimum effective task granularity: from there on, all coarser points are efficient
  /// enough.
  ///
  /// It is interpolated on the logarithm of the granularity.
  package func minimumGranularity(efficiency wanted: Double = 0.5) -> Threshold {
    guard let coarsest = points.last, let finest = points.first else { return .unknown }
    guard let last = points.lastIndex(where: { $0.efficiency < wanted }) else {
      return .below(finest.granularity)
    }
    guard last + 1 < points.count else { return .above(coarsest.granularity) }
    let (low, high) = (points[last], points[last + 1])
    let part = (wanted - low.efficiency) / (high.efficiency - low.efficiency)
    return .at(low.granularity * pow(high.granularity / low.granularity, part))
  }

  /// The efficiency at a granularity that lies between two measured points.
  ///
  /// - Returns: nil outside of what was measured.
  package func efficiency(at granularity: Double) -> Double? {
    guard let high = points.firstIndex(where: { $0.granularity >= granularity }) else { return nil }
    if points[high].granularity == granularity { return points[high].efficiency }
    guard high > 0 else { return nil }
    let (a, b) = (points[high - 1], points[high])
    let part = log(granularity / a.granularity) / log(b.granularity / a.granularity)
    return a.efficiency + part * (b.efficiency - a.efficiency)
  }
}
