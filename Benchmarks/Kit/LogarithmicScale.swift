import Foundation

/// Maps positive values to a line, a factor to a length, with ticks at round numbers.
package struct LogarithmicScale: Hashable, Sendable {
  package let lowest: Double
  package let highest: Double
  /// Where the lowest and the highest value are drawn; the first may be larger than the second.
  package let start: Double
  package let end: Double

  /// A scale on which all values have a place.
  ///
  /// - Returns: nil if none of the values is positive and finite.
  package init?(covering values: [Double], from start: Double, to end: Double) {
    let usable = values.filter { $0 > 0 && $0.isFinite }
    guard let smallest = usable.min(), let largest = usable.max() else { return nil }
    // One value alone gets room on both sides.
    let isPoint = largest / smallest < 1.01
    lowest = isPoint ? smallest / 2 : smallest
    highest = isPoint ? largest * 2 : largest
    self.start = start
    self.end = end
  }

  /// Where a value is drawn.
  package func position(_ value: Double) -> Double {
    start + (end - start) * log(value / lowest) / log(highest / lowest)
  }

  /// The powers of ten on the scale; if there are fewer than two, also 2 and 5 times those.
  package var ticks: [Double] {
    let powers = multiples(of: [1])
    return powers.count >= 2 ? powers : multiples(of: [1, 2, 5])
  }

  private func multiples(of factors: [Double]) -> [Double] {
    let exponents = Int(log10(lowest).rounded(.down))...Int(log10(highest).rounded(.up))
    return exponents.flatMap { exponent in factors.map { $0 * pow(10, Double(exponent)) } }
      .filter { $0 >= lowest * 0.999_999 && $0 <= highest * 1.000_001 }
  }
}
