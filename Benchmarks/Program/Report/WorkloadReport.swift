import BenchmarkKit
import Foundation

/// What was measured of one workload.
struct WorkloadReport: Codable, Sendable {
  var name: String
  var title: String
  var sizes: [SizeReport] = []
  /// Sizes that were left out, because the time for the whole run did not suffice.
  var sizesWithoutTime: [Int] = []
  /// How the time of a lane grows with size: 1 is linear.
  var exponents: [String: Double] = [:]

  init(name: String, title: String) {
    self.name = name
    self.title = title
  }

  /// The lanes in the order of their first appearance.
  var laneNames: [String] {
    sizes.flatMap { $0.lanes.map(\.name) + $0.skipped.map(\.lane) }
      .reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
  }

  func lane(_ name: String, at size: Int) -> LaneReport? {
    sizes.first { $0.size == size }?.lanes.first { $0.name == name }
  }

  func ratio(_ subject: String, to reference: String, at size: Int) -> RatioSummary? {
    sizes.first { $0.size == size }?.ratios
      .first { $0.subject == subject && $0.reference == reference }?.summary
  }

  /// The total times of a lane by size.
  func points(_ lane: String) -> [(size: Double, cost: Double)] {
    sizes.compactMap { size in
      size.lanes.first { $0.name == lane }
        .map { (Double(size.size), $0.minimum * Double($0.operations)) }
    }
  }

  mutating func findExponents(minimumSize: Int) {
    for lane in laneNames {
      exponents[lane] = Statistics.growthExponent(
        points(lane).filter { $0.size >= Double(minimumSize) }
      )
    }
    // The first lane's growth was measured back to back, which is better than minima.
    if let first = laneNames.first, let exponent = pairedExponent(from: minimumSize) {
      exponents[first] = exponent
    }
  }

  /// The growth of the first lane, from pairs of neighbouring sizes that were measured back to
  /// back.
  func pairedExponent(from minimumSize: Int) -> Double? {
    let steps = sizes.compactMap { size in size.growth.map { (size.size, $0) } }
      .filter { $0.1.from >= minimumSize }
    guard let first = steps.first else { return nil }
    var points = [(size: Double(first.1.from), cost: Double(first.1.from))]
    for (size, step) in steps {
      guard let last = points.last else { break }
      points.append((Double(size), last.cost * step.ratio.median * Double(size) / last.size))
    }
    return Statistics.growthExponent(points)
  }
}

/// What was measured at one size.
struct SizeReport: Codable, Sendable {
  var size: Int
  var lanes: [LaneReport]
  var ratios: [RatioReport]
  var skipped: [SkipReport]
  var growth: GrowthReport?
}

struct RatioReport: Codable, Sendable {
  var subject: String
  var reference: String
  var summary: RatioSummary
  /// The same of processor time, which a busy machine disturbs less.
  var cpu: RatioSummary?
}

/// What pairs of runs say about two lanes.
struct Comparison: Sendable {
  var time: RatioSummary
  var cpu: RatioSummary?
}

struct SkipReport: Codable, Sendable {
  var lane: String
  var reason: String
}

/// What a unit costs at this size, divided by what it costs at a smaller one.
struct GrowthReport: Codable, Sendable {
  var from: Int
  var ratio: RatioSummary
}

/// What a lane took, in seconds per operation.
struct LaneReport: Codable, Sendable {
  var name: String
  var operations: Int
  var samples: Int
  var minimum: Double
  var median: Double
  var build: Double
  var run: Double
  var release: Double
  var cpu: Double
  /// How often a thread went to sleep, per operation.
  var voluntarySwitches: Double
  var isDrawn: Bool

  init?(_ lane: Lane, samples: [Sample]) {
    let divisor = Double(lane.operations)
    func middle(_ value: (Sample) -> Double) -> Double {
      (Statistics.median(samples.map(value)) ?? 0) / divisor
    }
    guard let minimum = samples.map(\.wall).min() else { return nil }
    name = lane.name
    operations = lane.operations
    self.samples = samples.count
    self.minimum = minimum / divisor
    median = middle(\.wall)
    build = middle(\.phases.build)
    run = middle(\.phases.run)
    release = middle(\.phases.release)
    cpu = middle(\.cpu)
    voluntarySwitches = middle(\.voluntarySwitches)
    isDrawn = lane.isDrawn
  }
}
