import AdvancedOperations
import CoreOperations
import Dispatch
import Synchronization

extension FeatureWorkload {
  /// Operations that exclude each other, beside a queue that runs one at a time.
  static let claims = FeatureWorkload(
    "claims",
    "operations that exclude each other",
    weight: 1
  ) { size in
    [
      Lane("limit 1", operations: size) { _ in
        let queue = CoreOperations.OperationQueue()
        queue.maxConcurrentOperationCount = 1
        run(size, in: queue) { CountingOperation() }
      },
      Lane("one claim", operations: size) { _ in try runExclusively(size, kinds: 1) },
      Lane("16 claims in turn", operations: size) { _ in try runExclusively(size, kinds: 16) },
      Lane("one for two", operations: size) { _ in
        let claim = MutuallyExclusive("benchmark, two", limit: 2)
        try run(size, limits: [2], [Demand(claims: [claim], units: [(0, 1)])])
      },
      Lane("1 to 4 units of 8", operations: size) { _ in
        let pool = ResourcePool("benchmark", capacity: 8)
        let demands = (1...4).map { count in
          Demand(claims: [ResourceUnits(count, of: pool)], units: [(0, count)])
        }
        try run(size, limits: [8], demands)
      },
      Lane("2 pools crosswise", operations: size) { _ in
        let claims = (0..<2).map {
          ResourceUnits(1, of: ResourcePool("benchmark \($0)", capacity: 1))
        }
        let units = [(limit: 0, count: 1), (limit: 1, count: 1)]
        try run(
          size,
          limits: [1, 1],
          [Demand(claims: claims, units: units), Demand(claims: claims.reversed(), units: units)]
        )
      },
      Lane("held: .fail", operations: size + 1, expectedRuns: 1) { _ in
        try runBesideHolder(size, whenBusy: .fail) { $0?.failure != nil }
      },
      Lane("held: .skip", operations: size + 1, expectedRuns: 1) { _ in
        try runBesideHolder(size, whenBusy: .skip) { outcome in
          if case .skipped = outcome { true } else { false }
        }
      },
      cancellingHolders(size),
      // More than can be used up.
      Lane("RateLimit", operations: size) { _ in
        let claim = RateLimit("benchmark", size, per: .milliseconds(1))
        try run(size, limits: [], [Demand(claims: [claim], units: [])])
      },
    ]
  }

  /// Runs operations of so many kinds, no two of a kind at the same time.
  private static func runExclusively(_ size: Int, kinds: Int) throws {
    let claims = (0..<kinds).map { MutuallyExclusive("benchmark \($0)") }
    try run(
      size,
      limits: Array(repeating: 1, count: kinds),
      claims.enumerated().map { Demand(claims: [$1], units: [($0, 1)]) }
    )
  }

  /// Runs operations while one that doesn't end holds what they claim.
  private static func runBesideHolder(
    _ size: Int,
    whenBusy: WhenBusy,
    _ isExpected: (OperationOutcome?) -> Bool
  ) throws {
    let queue = CoreOperations.OperationQueue()
    let holder = HoldingOperation()
    holder.addClaim(MutuallyExclusive("benchmark, held"))
    queue.addOperation(holder)
    holder.started.wait()
    let operations = (0..<size).map { _ in
      let operation = CountingOperation()
      operation.addClaim(MutuallyExclusive("benchmark, held", whenBusy: whenBusy))
      return operation
    }
    queue.addOperations(operations, waitUntilFinished: true)
    holder.finish()
    queue.waitUntilAllOperationsAreFinished()
    try check(operations.count { isExpected($0.outcome) }, equals: size, "ended as expected")
  }

  /// Whoever comes cancels the one that holds the claim: chance says how many execute.
  private static func cancellingHolders(_ size: Int) -> Lane {
    var lane = Lane(".cancelHolder", operations: size) { _ in
      let queue = CoreOperations.OperationQueue()
      let operations = (0..<size).map { _ in
        let operation = CountingOperation()
        operation.addClaim(
          MutuallyExclusive("benchmark, last wins", whenBusy: .cancelHolder)
        )
        return operation
      }
      queue.addOperations(operations)
      queue.waitUntilAllOperationsAreFinished()
      let ended = operations.count { $0.outcome?.isSuccess == true || $0.isCancelled }
      try check(ended, equals: size, "succeeded or were cancelled")
    }
    lane.expectedRuns = nil
    return lane
  }

  /// Runs operations with claims in turn, and sees whether more was held at a time than there is.
  private static func run(_ size: Int, limits: [Int], _ demands: [Demand]) throws {
    let queue = CoreOperations.OperationQueue()
    let tally = Tally(limits: limits)
    for node in 0..<size {
      let demand = demands[node % demands.count]
      let operation = ClaimingOperation(tally: tally, units: demand.units)
      for claim in demand.claims { operation.addClaim(claim) }
      queue.addOperation(operation)
    }
    queue.waitUntilAllOperationsAreFinished()
    let violations = tally.violations.load(ordering: .acquiring)
    guard violations == 0 else {
      throw WrongResult(description: "\(violations) times, more was held than there is")
    }
  }
}

/// Counts itself, says that it has started, and goes on until it is finished from outside.
private final class HoldingOperation: AdvancedOperation, @unchecked Sendable {
  let started = DispatchSemaphore(value: 0)

  override func execute() {
    RunCount.add()
    started.signal()
  }
}

/// What an operation claims, and how many units that is of which limits.
private struct Demand {
  var claims: [any OperationClaim]
  var units: [(limit: Int, count: Int)]
}

/// What is held of each limit.
private final class Tally: Sendable {
  private let limits: [Int]
  private let held: Mutex<[Int]>
  let violations = Atomic<Int>(0)

  init(limits: [Int]) {
    self.limits = limits
    held = Mutex(Array(repeating: 0, count: limits.count))
  }

  func enter(_ units: [(limit: Int, count: Int)]) {
    held.withLock { held in
      for (limit, count) in units {
        held[limit] += count
        if held[limit] > limits[limit] { violations.add(1, ordering: .relaxed) }
      }
    }
  }

  func leave(_ units: [(limit: Int, count: Int)]) {
    held.withLock { held in
      for (limit, count) in units { held[limit] -= count }
    }
  }
}

private final class ClaimingOperation: AdvancedOperation, @unchecked Sendable {
  private let tally: Tally
  private let units: [(limit: Int, count: Int)]

  init(tally: Tally, units: [(limit: Int, count: Int)]) {
    self.tally = tally
    self.units = units
  }

  override func execute() {
    tally.enter(units)
    RunCount.add()
    tally.leave(units)
    finish()
  }
}
