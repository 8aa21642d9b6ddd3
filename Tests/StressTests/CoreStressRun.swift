import AdvancedOperationsTesting
import CoreOperations
import TestSupport

extension CoreStress {
  /// One random graph, worked on by several threads, and what must hold afterwards.
  final class Run: Sendable {
    private let seed: UInt64
    private let log = Findings()
    private let lanes: [Lane]
    private let hasBarriers: Bool
    private let nodes: Locked<[any Node]>
    private let barriers = Tally()
    private let completed: Countdown

    init(seed: UInt64) {
      self.seed = seed
      var random = Random(seed: seed)
      let hasBarriers = random.chance(50)
      self.hasBarriers = hasBarriers
      let log = log
      let lanes = (0..<Int.random(in: 1...4, using: &random)).map { _ in
        Lane(nil, allowed: Int.random(in: 1...6, using: &random))
      }
      self.lanes = lanes
      let made = (0..<Int.random(in: 2...200, using: &random)).map { number in
        let lane = lanes[Int.random(in: lanes.indices, using: &random)]
        return Self.make(NodeReport(number, lane, log), &random)
      }
      completed = Countdown(made.count)
      for later in made.indices.dropFirst() {
        for _ in 0..<Int.random(in: 0...3, using: &random) {
          let earlier = made[Int.random(in: 0..<later, using: &random)]
          made[later].addDependency(earlier)
          // Even ones are left alone, odd ones may be removed again.
          if earlier.report.number.isMultiple(of: 2) { made[later].report.fix(earlier) }
        }
      }
      for node in made {
        let report = node.report
        node.completionBlock = { [completed] in
          report.completions.add()
          completed.count()
        }
        node.queuePriority = Operation.QueuePriority.allCases.randomElement(using: &random) ?? .low
      }
      nodes = Locked(made)
    }

    private static func make(_ report: NodeReport, _ random: inout Random) -> any Node {
      switch Int.random(in: 0..<100, using: &random) {
      case 0..<65: Plain(report)
      case 65..<75: Apart(report, endsInCancel: false)
      case 75..<85: Apart(report, endsInCancel: true)
      case 85..<92: Held(report)
      default: Blocks(report, count: Int.random(in: 1...4, using: &random))
      }
    }

    /// Runs it and returns what was wrong.
    func violations() async throws -> [String] {
      let watchdog = Watchdog { [self] in standing }
      let all = nodes.withLock { $0 }
      await withTaskGroup(of: Void.self) { group in
        var random = Random(seed: ~seed)
        // Barriers wait for what was added before: then the order of adding has to follow the
        // edges.
        let adders = hasBarriers ? 1 : Int.random(in: 1...3, using: &random)
        for adder in 0..<adders {
          let mine = all.indices.filter { $0 % adders == adder }
          let seed = random.next()
          group.addTask { await onThread { self.add(mine.map { all[$0] }, Random(seed: seed)) } }
        }
        for _ in 0..<Int.random(in: 1...3, using: &random) {
          let seed = random.next()
          group.addTask { await onThread { self.disturb(all, Random(seed: seed)) } }
        }
      }
      for lane in lanes {
        lane.queue.isSuspended = false
        lane.queue.maxConcurrentOperationCount = lane.allowed
      }
      for node in all { node.release() }
      for lane in lanes { try await lane.queue.untilAllOperationsAreFinished() }
      await completed.done.opened()
      check(all)
      watchdog.end()
      return log.violations
    }

    /// Drops the graph and waits until nothing of it is left.
    func dropAll() async {
      let watchdog = Watchdog { [self] in "seed \(seed): \(log.live.now) are never released" }
      nodes.withLock { $0 = [] }
      await log.live.ended()
      watchdog.end()
    }

    // MARK: Threads

    private func add(_ mine: [any Node], _ start: Random) {
      var random = start
      let order = hasBarriers || random.chance(50) ? mine : mine.shuffled(using: &random)
      var rest = order[...]
      while !rest.isEmpty {
        if hasBarriers || random.chance(50) {
          let node = rest.removeFirst()
          node.report.lane.queue.addOperation(node)
        } else {
          let batch = rest.prefix(Int.random(in: 1...20, using: &random))
          rest = rest.dropFirst(batch.count)
          for lane in lanes {
            let own = batch.filter { $0.report.lane === lane }
            if !own.isEmpty { lane.queue.addOperations(own) }
          }
        }
        if hasBarriers && random.chance(8) { addBarrier(to: lanes.randomElement(using: &random)) }
      }
    }

    private func addBarrier(to lane: Lane?) {
      guard let lane else { return }
      barriers.add()
      lane.queue.addBarrierBlock { [log] in
        if lane.running.now > 0 { log.complain("a barrier ran beside an operation") }
        lane.running.add()
        lane.barriersRun.add()
        lane.running.add(-1)
      }
    }

    private func disturb(_ all: [any Node], _ start: Random) {
      var random = start
      for _ in 0..<Int.random(in: 0...150, using: &random) {
        let node = all[Int.random(in: all.indices, using: &random)]
        let lane = lanes[Int.random(in: lanes.indices, using: &random)]
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<15: node.cancel()
        case 15..<30: node.queuePriority = .allCases.randomElement(using: &random) ?? .normal
        case 30..<45: removeOne(of: node)
        case 45..<60: addOne(to: node, all, &random)
        case 60..<70: lane.queue.isSuspended = random.chance(30)
        case 70..<80:
          lane.queue.maxConcurrentOperationCount = Int.random(in: 0...lane.allowed, using: &random)
        case 80..<81: lane.queue.cancelAllOperations()
        case 81..<90: node.release()
        case 90..<95: _ = (lane.queue.operations.count, node.debugDescription)
        default:
          let wait = Task { try await node.untilFinished() }
          if random.chance(50) { wait.cancel() }
        }
      }
    }

    private func removeOne(of node: any Node) {
      let removable = node.dependencies.first { dependency in
        (dependency as? any Node).map { !$0.report.number.isMultiple(of: 2) } ?? true
      }
      if let removable { node.removeDependency(removable) }
    }

    private func addOne(to node: any Node, _ all: [any Node], _ random: inout Random) {
      guard node.report.number > 0 else { return }
      let earlier = all[Int.random(in: 0..<node.report.number, using: &random)]
      // Not one that must stay: it can't be told whether this came in time.
      if !earlier.report.number.isMultiple(of: 2) { node.addDependency(earlier) }
    }

    // MARK: Afterwards

    private func check(_ all: [any Node]) {
      for node in all {
        let number = node.report.number
        if !node.isFinished && !node.isCancelled { log.complain("\(number) has not finished") }
        if node.report.completions.now != 1 {
          log.complain("\(number) completed \(node.report.completions.now) times")
        }
        if node.report.bodies.now == 0 && !node.isCancelled {
          log.complain("\(number) never ran and was not cancelled")
        }
        if node.completionBlock != nil { log.complain("\(number) kept its completion block") }
        node.report.forget()
      }
      for lane in lanes {
        if lane.queue.operationCount > 0 { log.complain("a queue is not empty") }
        if lane.running.now != 0 { log.complain("\(lane.running.now) are still running") }
        if lane.running.peak > lane.allowed { log.complain("the limit was exceeded") }
      }
      let run = lanes.map { $0.barriersRun.now }.reduce(0, +)
      if run != barriers.now { log.complain("\(run) of \(barriers.now) barriers ran") }
    }

    private var standing: String {
      let open = nodes.withLock { $0 }.filter { !$0.isFinished }
      let lines = open.prefix(20).map { "\n  \($0.debugDescription)" }.joined()
      let queues = lanes.map {
        "\n  queue: \($0.queue.operationCount) operations, limit "
          + "\($0.queue.maxConcurrentOperationCount), suspended \($0.queue.isSuspended)"
      }
      return "seed \(seed), \(open.count) are open:\(lines)\(queues.joined())"
    }
  }
}
