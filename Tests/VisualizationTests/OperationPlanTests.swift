import AdvancedOperations
import AdvancedOperationsVisualization
import AdvancedTestSupport
import CoreOperations
import TestSupport
import Testing

@Suite(.watched) struct `What if` {
  /// Between 1 and 8 pieces with up to 9 seconds each, and edges from lower to higher numbers.
  private func randomPlan(_ random: inout Random, sizes: ClosedRange<Int>) throws -> OperationPlan {
    let count = Int.random(in: sizes, using: &random)
    let durations = (0..<count).map { _ in Duration.seconds(Int.random(in: 0...9, using: &random)) }
    let density = Int.random(in: 0...60, using: &random)
    var edges: [(from: Int, to: Int)] = []
    for to in 0..<count {
      for from in 0..<to where Int.random(in: 0..<100, using: &random) < density {
        edges.append((from, to))
      }
    }
    return try OperationPlan(durations: durations, edges: edges)
  }

  /// The duration of the best schedule of all, by trying every order of starts.
  private func best(_ plan: OperationPlan, workers: Int) -> Duration {
    let count = plan.durations.count
    var best = plan.work
    var ends = [Duration?](repeating: nil, count: count)
    func place(_ left: Int, _ free: [Duration]) {
      if left == 0 {
        best = min(best, ends.reduce(.zero) { max($0, $1 ?? .zero) })
        return
      }
      for piece in 0..<count where ends[piece] == nil {
        let before = plan.predecessors[piece].map { ends[$0] }
        if before.contains(where: { $0 == nil }) { continue }
        let ready = before.reduce(Duration.zero) { max($0, $1 ?? .zero) }
        for worker in Set(free.indices.map { free.firstIndex(of: free[$0]) ?? 0 }) {
          let end = max(ready, free[worker]) + plan.durations[piece]
          if end > best { continue }
          var next = free
          next[worker] = end
          ends[piece] = end
          place(left - 1, next)
          ends[piece] = nil
        }
      }
    }
    place(count, [Duration](repeating: .zero, count: workers))
    return best
  }

  @Test(arguments: seeds)
  func `a schedule respects dependencies and each worker executes one operation`(
    seed: UInt64
  ) throws {
    var random = Random(seed)
    let plan = try randomPlan(&random, sizes: 0...40)
    for workers in [1, 2, 3, 1000] {
      for order in OperationSchedule.Order.allCases {
        let schedule = plan.schedule(workers: workers, order: order)
        let ends = zip(schedule.starts, plan.durations).map { $0 + $1 }
        for (piece, before) in plan.predecessors.enumerated() {
          for earlier in before { #expect(ends[earlier] <= schedule.starts[piece]) }
        }
        for a in ends.indices {
          for b in 0..<a where schedule.workers[a] == schedule.workers[b] {
            #expect(ends[a] <= schedule.starts[b] || ends[b] <= schedule.starts[a])
          }
        }
        #expect(schedule.workers.allSatisfy { (0..<workers).contains($0) })
        #expect(schedule.duration == ends.max() ?? .zero)
      }
    }
  }

  @Test(arguments: seeds) func `a schedule is within its bounds`(seed: UInt64) throws {
    var random = Random(seed)
    let plan = try randomPlan(&random, sizes: 0...40)
    for workers in 1...6 {
      for order in OperationSchedule.Order.allCases {
        let duration = plan.schedule(workers: workers, order: order).duration
        #expect(duration >= plan.criticalDuration)
        #expect(duration * workers >= plan.work)
        // Graham's: work/m + (1 − 1/m) times the critical path, times m to stay with whole numbers.
        #expect(duration * workers <= plan.work + plan.criticalDuration * (workers - 1))
      }
    }
  }

  @Test
  func `a schedule takes the work with one worker and the critical path with enough`() throws {
    for seed in seeds {
      var random = Random(seed)
      let plan = try randomPlan(&random, sizes: 0...20)
      #expect(plan.schedule(workers: 1).duration == plan.work)
      #expect(plan.schedule(workers: 20).duration == plan.criticalDuration)
      #expect(plan.schedule(workers: .max).duration == plan.criticalDuration)
    }
  }

  @Test(arguments: Effort.seeds(20))
  func `a schedule takes at most 2 − 1/m times the best duration`(seed: UInt64) throws {
    var random = Random(seed)
    let plan = try randomPlan(&random, sizes: 1...5)
    for workers in 1...3 {
      let best = best(plan, workers: workers)
      for order in OperationSchedule.Order.allCases {
        let duration = plan.schedule(workers: workers, order: order).duration
        #expect(duration >= best)
        #expect(duration * workers <= best * (2 * workers - 1))
      }
    }
  }

  @Test func `the longest path first can be better than arrival order`() throws {
    // Two short ones arrive before the long one.
    let plan = try OperationPlan(durations: [.seconds(1), .seconds(1), .seconds(2)])
    #expect(plan.schedule(workers: 2).duration == .seconds(3))
    #expect(plan.schedule(workers: 2, order: .longestPath).duration == .seconds(2))
  }

  @Test func `more workers can take longer, as Graham found`() throws {
    // His example of 1966.
    let durations = [3, 2, 2, 2, 4, 4, 4, 4, 9].map { Duration.seconds($0) }
    let edges = [(0, 8), (3, 4), (3, 5), (3, 6), (3, 7)].map { (from: $0.0, to: $0.1) }
    let plan = try OperationPlan(durations: durations, edges: edges)
    #expect(plan.schedule(workers: 3).duration == .seconds(12))
    #expect(plan.schedule(workers: 4).duration == .seconds(15))
  }

  @Test(arguments: seeds) func `the critical path is a path of its duration`(seed: UInt64) throws {
    var random = Random(seed)
    let plan = try randomPlan(&random, sizes: 1...30)
    let path = plan.criticalPath
    #expect(!path.isEmpty)
    for (before, after) in zip(path, path.dropFirst()) {
      #expect(plan.predecessors[after].contains(before))
    }
    #expect(path.reduce(.zero) { $0 + plan.durations[$1] } == plan.criticalDuration)
  }

  @Test(arguments: seeds) func `slack is what can be added without changing the critical duration`(
    seed: UInt64
  ) throws {
    var random = Random(seed)
    let plan = try randomPlan(&random, sizes: 1...12)
    for (piece, slack) in plan.slack.enumerated() {
      var longer = plan
      longer.durations[piece] += slack
      #expect(longer.criticalDuration == plan.criticalDuration)
      longer.durations[piece] += .nanoseconds(1)
      #expect(longer.criticalDuration == plan.criticalDuration + .nanoseconds(1))
    }
    for piece in plan.criticalPath { #expect(plan.slack[piece] == .zero) }
  }

  @Test func `a plan without operations has no duration`() throws {
    let plan = try OperationPlan(durations: [])
    #expect(plan.work == .zero)
    #expect(plan.criticalPath == [])
    #expect(plan.slack == [])
    #expect(plan.schedule(workers: 1).duration == .zero)
  }

  @Test func `a plan with a cycle throws an error with the cycle`() {
    let edges = [(0, 1), (1, 2), (2, 3), (3, 1), (3, 4)].map { (from: $0.0, to: $0.1) }
    #expect(throws: OperationCycleError(path: ["1", "2", "3", "1"])) {
      try OperationPlan(durations: [Duration](repeating: .zero, count: 5), edges: edges)
    }
    #expect(throws: OperationCycleError(path: ["0", "0"])) {
      try OperationPlan(durations: [.zero], edges: [(from: 0, to: 0)])
    }
  }

  @Test func `negative durations count as none`() throws {
    let plan = try OperationPlan(durations: [.seconds(-5), .seconds(2)], edges: [(from: 0, to: 1)])
    #expect(plan.work == .seconds(2))
    #expect(plan.criticalDuration == .seconds(2))
    #expect(plan.schedule(workers: 2).duration == .seconds(2))
  }

  @Test func `a long chain and a large fan are scheduled`() throws {
    let count = Effort.size(100_000)
    let second = [Duration](repeating: .seconds(1), count: count)
    let chain = try OperationPlan(
      durations: second,
      edges: (1..<count).map { (from: $0 - 1, to: $0) }
    )
    #expect(chain.schedule(workers: 8).duration == .seconds(count))
    let fan = try OperationPlan(durations: second)
    #expect(fan.schedule(workers: 8).duration == .seconds(count / 8))
  }
}
