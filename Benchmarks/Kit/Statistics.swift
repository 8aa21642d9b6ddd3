import Foundation

/// What is said about a number of measurements.
package enum Statistics {
  /// The value below which a part of the values lies, interpolated between neighbours.
  ///
  /// - Returns: nil if there are no values.
  package static func quantile(_ part: Double, of values: [Double]) -> Double? {
    guard !values.isEmpty else { return nil }
    let sorted = values.sorted()
    let position = min(max(part, 0), 1) * Double(sorted.count - 1)
    let lower = Int(position)
    let upper = min(lower + 1, sorted.count - 1)
    return sorted[lower] + (position - Double(lower)) * (sorted[upper] - sorted[lower])
  }

  /// The value in the middle.
  package static func median(_ values: [Double]) -> Double? { quantile(0.5, of: values) }

  /// How a cost grows with size: the slope of the line through the logarithms of both.
  ///
  /// 1 is linear, 2 quadratic. Sizes and costs have to be positive; others are left out.
  ///
  /// - Returns: nil if fewer than two sizes are left.
  package static func growthExponent(_ points: [(size: Double, cost: Double)]) -> Double? {
    let logarithms = points.filter { $0.size > 0 && $0.cost > 0 }
      .map { (x: log($0.size), y: log($0.cost)) }
    let count = Double(logarithms.count)
    guard count >= 2 else { return nil }
    let meanX = logarithms.reduce(0) { $0 + $1.x } / count
    let meanY = logarithms.reduce(0) { $0 + $1.y } / count
    let spread = logarithms.reduce(0) { $0 + ($1.x - meanX) * ($1.x - meanX) }
    guard spread > 0 else { return nil }
    return logarithms.reduce(0) { $0 + ($1.x - meanX) * ($1.y - meanY) } / spread
  }

  /// The cost at another size, if it goes on growing as it did at the last two; if only one is
  /// known, with the assumed exponent.
  ///
  /// - Returns: nil if no size is known.
  package static func extrapolate(
    _ points: [(size: Double, cost: Double)],
    to size: Double,
    assumedExponent: Double = 1
  ) -> Double? {
    guard let last = points.last, last.size > 0 else { return nil }
    let exponent = growthExponent(Array(points.suffix(2))) ?? assumedExponent
    return last.cost * pow(size / last.size, exponent)
  }
}
