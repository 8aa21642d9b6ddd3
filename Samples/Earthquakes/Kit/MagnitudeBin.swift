/// How many events have a magnitude from one whole number up to, but not including, the next.
public struct MagnitudeBin: Sendable, Hashable {
  /// The lowest magnitude that belongs to the bin.
  public var from: Int

  /// The number of events.
  public var count: Int

  /// The lowest magnitude above the bin, one more than `from`.
  public var below: Int { from + 1 }

  /// Creates a bin.
  ///
  /// - Parameters:
  ///   - from: The lowest magnitude that belongs to the bin.
  ///   - count: The number of events.
  public init(from: Int, count: Int) {
    self.from = from
    self.count = count
  }

  /// The bins from the lowest to the highest that has events, with the empty ones between them.
  ///
  /// Bins beyond anything that the Earth can do are not filled up to, so that one absurd value
  /// cannot make a list of millions.
  static func row(of counts: [Int: Int]) -> [MagnitudeBin] {
    let sane = counts.keys.filter { (-20...20).contains($0) }
    var bins = Set(counts.keys)
    if let lowest = sane.min(), let highest = sane.max() { bins.formUnion(lowest...highest) }
    return bins.sorted().map { MagnitudeBin(from: $0, count: counts[$0] ?? 0) }
  }
}
