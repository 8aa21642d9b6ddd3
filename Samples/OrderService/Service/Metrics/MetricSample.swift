/// The numbers of one series of a metric.
enum MetricSample: Sendable {
  /// A number that only grows.
  case counter(Double)
  /// A number that goes up and down.
  case gauge(Double)
  /// How many values were at most as large as each bound, …
  case histogram(Histogram)

  /// A histogram with the bounds that Prometheus' own libraries begin with, and longer ones: an order
  /// may wait for minutes.
  struct Histogram: Sendable {
    static let bounds: [Double] = [
      0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120,
    ]

    /// How many values are in each bucket, each value in one; the last is for larger ones.
    private(set) var counts = [Int](repeating: 0, count: bounds.count + 1)
    private(set) var sum = 0.0

    mutating func record(_ value: Double) {
      counts[Self.bounds.firstIndex { value <= $0 } ?? Self.bounds.count] += 1
      sum += value
    }
  }

  /// The word of Prometheus' format for its kind.
  var type: String {
    switch self {
    case .counter: "counter"
    case .gauge: "gauge"
    case .histogram: "histogram"
    }
  }
}
