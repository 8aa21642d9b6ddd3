import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import TestSupport

/// The parts of a workflow, in the order in which they ran.
final class PartLog: Sendable {
  private let kept = Locked<[String]>([])
  var all: [String] { kept.withLock { $0 } }
  func add(_ part: String) { kept.withLock { $0.append(part) } }
}

/// A random workflow of two or three operations, small enough to try all orders of its steps.
///
/// Between two suspensions a body notes one part, behind all sleeps that don't suspend: on threads,
/// two bodies that run at the same time have their parts in some order, which a simulation has as
/// the order of two steps.
struct SmallWorkflow: Sendable {
  enum Suspension: CaseIterable { case yield, zeroSleep, pastSleep, negativeSleep }

  enum Naming: CaseIterable {
    /// Each operation has its own name.
    case distinct
    /// All operations and queues have one name.
    case equal
    /// The names are those that the simulation would give to others.
    case colliding

    func name(of index: Int) -> String {
      switch self {
      case .distinct: "operation \(index)"
      case .equal: "a"
      case .colliding: ["a", "a", "a #2", "task of a"][index % 4]
      }
    }
  }

  private struct Part: Sendable {
    let number: Int
    let isBlock: Bool
    let suspensions: [Suspension]
    let queue: Int
    let dependency: Int?
    let hasClaim: Bool
  }

  private let parts: [Part]
  private let limits: [Int]

  init(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    let count = Int.random(in: 2...3, using: &random)
    // Three operations that suspend have more orders than can be tried.
    var left = count == 2 ? 2 : 1
    parts = (0..<count).map { number in
      let isBlock = Bool.random(using: &random)
      let suspends = isBlock ? 0 : min(left, Int.random(in: 0...2, using: &random))
      left -= suspends
      return Part(
        number: number,
        isBlock: isBlock,
        suspensions: (0..<suspends)
          .compactMap { _ in Suspension.allCases.randomElement(using: &random) },
        queue: Int.random(in: 0...1, using: &random),
        dependency: number > 0 && Int.random(in: 0..<4, using: &random) == 0
          ? Int.random(in: 0..<number, using: &random) : nil,
        hasClaim: !isBlock && Int.random(in: 0..<4, using: &random) == 0
      )
    }
    limits = (0..<2).map { _ in Bool.random(using: &random) ? 1 : -1 }
  }

  /// Adds the operations to queues that are suspended until all are added.
  func start(
    in environment: OperationEnvironment,
    _ naming: Naming,
    _ log: PartLog
  ) -> [AdvancedOperationQueue] {
    let queues = limits.map { limit in
      let queue = AdvancedOperationQueue(environment: environment)
      queue.maxConcurrentOperationCount = limit
      queue.isSuspended = true
      if naming != .distinct { queue.name = "a" }
      return queue
    }
    var operations: [Operation] = []
    for part in parts {
      let operation = make(part, naming.name(of: part.number), environment.clock, log)
      if let dependency = part.dependency { operation.addDependency(operations[dependency]) }
      operations.append(operation)
      queues[part.queue].addOperation(operation)
    }
    for queue in queues { queue.isSuspended = false }
    return queues
  }

  private func make(
    _ part: Part,
    _ name: String,
    _ clock: OperationClock,
    _ log: PartLog
  ) -> Operation {
    if part.isBlock {
      let operation = BlockOperation { log.add("\(part.number)") }
      operation.name = name
      return operation
    }
    let operation = ResultOperation(name: name) {
      for (index, suspension) in part.suspensions.enumerated() {
        switch suspension {
        case .yield:
          log.add("\(part.number).\(index)")
          await Task.yield()
        case .zeroSleep: try await clock.sleep(for: .zero)
        case .pastSleep: try await clock.sleep(until: .zero)
        case .negativeSleep: try await clock.sleep(for: .seconds(-1))
        }
      }
      log.add("\(part.number)")
    }
    if part.hasClaim { operation.addClaim(MutuallyExclusive("one")) }
    return operation
  }

  /// The orders in which the parts can run, by trying all schedules; nil if these are too many.
  func orders(
    _ naming: Naming = .distinct,
    isPruned: Bool = true,
    atMost count: Int
  ) throws -> Set<[String]>? {
    var orders: Set<[String]> = []
    let workflow = { (simulation: SimulatedEnvironment) in
      let log = PartLog()
      let queues = start(in: simulation.environment, naming, log)
      simulation.run()
      withExtendedLifetime(queues) {}
      orders.insert(log.all)
    }
    let report =
      isPruned
      ? try exploreSchedules(depthFirst: count, randomSchedules: 0, of: workflow)
      : try exploreSchedulesUnpruned(depthFirst: count, of: workflow)
    return report.isComplete ? orders : nil
  }

  /// An order in which the parts ran on threads.
  func orderOnThreads() async throws -> [String] {
    let log = PartLog()
    for queue in start(in: OperationEnvironment(), .distinct, log) {
      try await queue.untilAllOperationsAreFinished()
    }
    return log.all
  }
}
