import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import CoreOperations
import Dispatch
import TestSupport

extension Soak {
  /// One random program: its operations, and what others do to them meanwhile.
  final class Program: Sendable {
    let seed: UInt64
    private let world: World
    private let live = CoreStress.Live()
    private let ledger = Ledger()
    private let endless = Endless()
    private let environments: [OperationEnvironment]
    let queues: [OperationQueue]
    private let plain = OperationQueue()
    private let stage = Locked("begins")
    /// Let go of when the program is over.
    private let state: Locked<[Operation]>

    init(seed: UInt64, _ world: World) {
      self.seed = seed
      self.world = world
      var random = CoreStress.Random(seed: seed)
      environments = (0..<Int.random(in: 1...2, using: &random)).map { _ in
        OperationEnvironment(
          clock: random.chance(50)
            ? OperationClock(ContinuousClock()) : OperationClock(SuspendingClock()),
          claimDomain: world.domain
        )
      }
      let own = environments
      queues = (0..<Int.random(in: 1...3, using: &random)).map { index in
        let queue = AdvancedOperationQueue(environment: own[index % own.count])
        if random.chance(50) {
          queue.maxConcurrentOperationCount = Int.random(in: 1...3, using: &random)
        }
        return queue
      }
      var builder = Builder(seed: random.next(), world, environments, live, ledger, endless)
      let count = Int.random(in: 3...25, using: &random)
      state = Locked((0..<count).map { builder.makeMember($0) })
    }

    private var operations: [Operation] { state.withLock { $0 } }

    // MARK: What happens

    /// Runs it to its end.
    ///
    /// - Returns: What went against the promises.
    func run() async throws -> [String] {
      var random = CoreStress.Random(seed: seed ^ 0xc4a0_5000)
      let operations = operations
      let watches = operations.map { operation -> AdvancedStress.Watch in
        let watch = AdvancedStress.Watch()
        (operation as? AdvancedOperation)?.addObserver(watch)
        return watch
      }
      if features.contains(.underlyingQueues), random.chance(20) { await setUnderlyingQueues() }
      enter("is disturbed")
      await disturb(operations, &random)
      for queue in queues { queue.isSuspended = false }
      endless.end()
      for queue in queues { queue.addBarrierBlock {} }
      enter("waits for its operations")
      for operation in operations { try await operation.untilFinished() }
      enter("waits for its queues")
      for queue in queues + [plain] { try await queue.untilAllOperationsAreFinished() }
      enter("waits for its claims")
      var problems = try await problems(operations, watches)
      problems += try await problemsOfClaims()
      return problems
    }

    /// Lets go of everything, and returns when nothing of it is left, in its queues neither.
    ///
    /// Only then are the queues empty for good: a condition that is asked for its prerequisite
    /// while its operation is cancelled brings it after the operation has ended, and the
    /// prerequisite is added, cancelled.
    func release() async {
      state.withLock { $0 = [] }
      enter("waits until its operations are released")
      await CoreStress.onThread { [live, ledger, queues = queues + [plain]] in
        let never = DispatchSemaphore(value: 0)
        while live.now > 0 || !ledger.isEmpty || queues.contains(where: { $0.operationCount > 0 }) {
          _ = never.wait(timeout: .now() + .milliseconds(1))
        }
      }
    }

    private func enter(_ name: String) { stage.withLock { $0 = name } }

    private func setUnderlyingQueues() async {
      let queue = queues[0]
      await withTaskGroup { group in
        for index in 0..<4 {
          group.addTask {
            queue.underlyingQueue = index == 3 ? nil : DispatchQueue(label: "soak \(index)")
          }
        }
      }
    }

    private func disturb(_ operations: [Operation], _ random: inout CoreStress.Random) async {
      let owners = operations.map { _ in Int.random(in: 0..<queues.count, using: &random) }
      let byHand = Set(
        operations.indices.filter { index in
          let mayStart = operations[index].dependencies.isEmpty
          return random.chance(10) && mayStart && operations[index] is AdvancedOperation
        }
      )
      let cancelled = operations.indices.filter { _ in random.chance(15) }
      let awaited = operations.indices.filter { _ in random.chance(20) }
      let edges = (0..<4).map { _ in
        [0, 1].map { _ in Int.random(in: 0..<operations.count, using: &random) }.sorted()
      }
      let (sweeps, hasBlocks) = (random.chance(15), random.chance(50))
      let barriers = features.contains(.barriers) ? Int.random(in: 0...3, using: &random) : 0
      await withTaskGroup { group in
        for (index, operation) in operations.enumerated() {
          let isByHand = byHand.contains(index)
          group.addTask { self.add(operation, to: owners[index], isByHand: isByHand) }
        }
        for index in cancelled { group.addTask { Self.cancel(operations[index]) } }
        for index in awaited { group.addTask { await Self.giveUpWaiting(for: operations[index]) } }
        for queue in queues { group.addTask { await Self.disturb(queue, sweeps: sweeps) } }
        if hasBlocks { group.addTask { await self.runPlainBlocks() } }
        // What stands in front of one may need what comes behind it.
        for number in 0..<barriers {
          group.addTask { self.queues[number % self.queues.count].addBarrierBlock {} }
        }
        group.addTask {
          for edge in edges where edge[0] != edge[1] && !byHand.contains(edge[1]) {
            operations[edge[1]].addDependency(operations[edge[0]])
            await Task.yield()
            operations[edge[1]].queuePriority = .high
            operations[edge[1]].removeDependency(operations[edge[0]])
          }
        }
      }
    }

    private func add(_ operation: Operation, to owner: Int, isByHand: Bool) {
      guard isByHand, let advanced = operation as? AdvancedOperation else {
        queues[owner].addOperation(operation)
        return
      }
      advanced.environment = environments[0]
      advanced.start()
    }

    private static func cancel(_ operation: Operation) {
      if let advanced = operation as? AdvancedOperation {
        advanced.cancel(withError: Flaw())
      } else {
        operation.cancel()
      }
    }

    /// Begins to wait in ways that are many, and cancels all of the waits.
    private static func giveUpWaiting(for operation: Operation) async {
      let task = Task {
        try await withThrowingTaskGroup { group in
          group.addTask { try await operation.untilFinished() }
          if let result = operation as? ResultOperation<Int> {
            group.addTask { _ = try await result.value }
          }
          if let advanced = operation as? AdvancedOperation {
            group.addTask { for await _ in advanced.events {} }
          }
          try await group.waitForAll()
        }
      }
      await Task.yield()
      task.cancel()
      _ = await task.result
    }

    private static func disturb(_ queue: OperationQueue, sweeps: Bool) async {
      let limit = queue.maxConcurrentOperationCount
      queue.isSuspended = true
      await Task.yield()
      queue.isSuspended = false
      queue.maxConcurrentOperationCount = 0
      await Task.yield()
      if sweeps { queue.cancelAllOperations() }
      queue.maxConcurrentOperationCount = 2
      await Task.yield()
      queue.maxConcurrentOperationCount = limit
    }

    /// Blocks that wait for earlier ones only, with barriers between them.
    private func runPlainBlocks() async {
      var last: Operation?
      for number in 0..<12 {
        let block = BlockOperation {}
        if let last { block.addDependency(last) }
        ledger.note(block)
        plain.addOperation(block)
        if number % 4 == 1 { plain.addBarrierBlock {} }
        if number % 4 == 2 { block.cancel() }
        plain.addOperation { await Task.yield() }
        last = block
      }
    }

    // MARK: What is looked at

    private func problems(
      _ operations: [Operation],
      _ watches: [AdvancedStress.Watch]
    ) async throws -> [String] {
      var problems: [String] = []
      for (operation, watch) in zip(operations, watches) {
        if !operation.isFinished { problems.append("\(operation) has not finished") }
        if let advanced = operation as? AdvancedOperation { problems += watch.check(advanced) }
        if let work = operation as? AdvancedStress.Work, work.executions.now > 1 {
          problems.append("\(work) executed twice")
        }
      }
      for claim in world.claims where claim.inside.peak > claim.limit {
        problems.append("\(claim.inside.peak) in \(claim.name)")
      }
      return problems
    }

    /// Every claim is free, or it hangs here.
    private func problemsOfClaims() async throws -> [String] {
      let last = AdvancedOperation()
      for claim in world.claims { last.addClaim(claim.claim(.wait)) }
      for number in 0...3 { last.addClaim(MutuallyExclusive("alone \(number)")) }
      last.addClaim(MutuallyExclusive("few", limit: 1))
      last.addClaim(ResourceUnits(world.pool.capacity, of: world.pool))
      queues[0].addOperation(last)
      try await last.untilFinished()
      return last.outcome?.isSuccess == true ? [] : ["a claim is not free: \(last)"]
    }

    /// How it stands, for a watchdog.
    var report: String {
      let alive = ledger.alive.joined(separator: "\n  ")
      let open = operations.filter { !$0.isFinished }.map(\.debugDescription)
      return """
        OPERATIONS_SOAK_SEED=\(seed) \(stage.withLock { $0 })
        not finished:
          \(open.joined(separator: "\n  "))
        alive, and \(live.now) more:
          \(alive)
        in its queues: \((queues + [plain]).map(\.operations))
        """
    }
  }
}
