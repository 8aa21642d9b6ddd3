/// Work that is measured at several sizes, on several lanes.
protocol Workload: Sendable {
  /// What the command line calls it.
  var name: String { get }
  /// What it does, in half a line.
  var title: String { get }
  /// Its own sizes; nil if it runs at those of the command line.
  var ownSizes: [Int]? { get }
  /// Which of the command line's usual sizes make sense.
  var usualSizes: ClosedRange<Int> { get }
  /// Which share of the time it gets, beside others.
  var weight: Double { get }
  /// Which lanes are compared with which.
  var pairing: Pairing { get }

  /// The lanes at a size, in the order of the table's columns.
  func lanes(size: Int, contestants: [any Contestant]) throws -> [Lane]

  /// Looks at more than counts, once, at a small size.
  func verify(size: Int, contestants: [any Contestant]) throws
}

extension Workload {
  var ownSizes: [Int]? { nil }
  var usualSizes: ClosedRange<Int> { 1_000...300_000 }
  var weight: Double { 1 }
  var pairing: Pairing { .firstWithOthers }
  func verify(size: Int, contestants: [any Contestant]) throws {}
}

/// Which lanes of a workload are compared.
enum Pairing: Sendable {
  /// The first is ours; its ratio to each other one says how it compares with peers.
  case firstWithOthers
  /// The first is the base; the ratio of each other one to it says what a feature costs.
  case othersWithFirst
}

/// One way to do a workload: a contestant, or a feature.
struct Lane: Sendable {
  var name: String
  /// By how many a time is divided for the tables.
  var operations: Int
  /// By how many a time is divided for the ratios: edges, where there are any.
  var units: Int
  /// How many bodies have to run each time; nil if that is left to chance.
  var expectedRuns: Int?
  var assumedExponent = 1.0
  /// What is known about its time in seconds before it is measured.
  var expectedSeconds: Double?
  /// Why it isn't measured.
  var objection: String?
  /// Whether it runs once without being measured, before it is.
  var isWarmedUp = true
  /// Whether it stands in the picture.
  var isDrawn = true
  /// One run, which throws when what came out is wrong.
  var run: @Sendable (inout PhaseClock) throws -> Void

  init(
    _ name: String,
    operations: Int,
    units: Int? = nil,
    expectedRuns: Int? = nil,
    run: @escaping @Sendable (inout PhaseClock) throws -> Void
  ) {
    self.name = name
    self.operations = operations
    self.units = units ?? operations
    self.expectedRuns = expectedRuns ?? operations
    self.run = run
  }

  init(_ contestant: any Contestant, _ job: Job) {
    self.init(
      contestant.name,
      operations: job.graph.count,
      units: job.graph.edgeCount > 0 ? job.graph.edgeCount : job.graph.count
    ) { clock in
      contestant.run(job, clock: &clock)
    }
    assumedExponent = contestant.assumedExponent(for: job)
    objection = contestant.objection(to: job)
  }
}

/// A run that did not do what it was to do.
struct WrongResult: Error, CustomStringConvertible {
  var description: String
}
