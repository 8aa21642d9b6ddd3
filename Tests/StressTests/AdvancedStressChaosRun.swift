import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport

extension AdvancedStress {
  /// One random workflow: operations of every kind, and what is done to them meanwhile.
  final class Run: Sendable {
    let seed: UInt64
    let live = CoreStress.Live()
    let queues: [AdvancedOperationQueue]
    let claims: [Exclusive]
    let operations: [AdvancedOperation]
    let watches: [Watch]
    let byHand: Set<Int>
    private let probe = ConditionProbe()

    init(seed: UInt64) {
      self.seed = seed
      var random = CoreStress.Random(seed: seed)
      let environment = OperationEnvironment(claimDomain: ClaimDomain())
      queues = (0..<Int.random(in: 1...3, using: &random)).map { _ in
        let queue = AdvancedOperationQueue(environment: environment)
        if random.chance(60) {
          queue.maxConcurrentOperationCount = Int.random(in: 1...3, using: &random)
        }
        return queue
      }
      claims = [
        Exclusive(name: "a", limit: 1), Exclusive(name: "b", limit: 1),
        Exclusive(name: "c", limit: 2),
      ]
      var all: [AdvancedOperation] = []
      var byHand: Set<Int> = []
      for index in 0..<Int.random(in: 5...40, using: &random) {
        let operation = Self.make(&random, among: all, claims, live)
        operation.name = "o\(index)"
        Self.attach(to: operation, among: all, probe, live, &random)
        if operation.dependencies.isEmpty && random.chance(10) {
          operation.environment = environment
          byHand.insert(index)
        }
        all.append(operation)
      }
      operations = all
      self.byHand = byHand
      watches = all.map { operation in
        let watch = Watch()
        operation.addObserver(watch)
        return watch
      }
    }

    private static func make(
      _ random: inout CoreStress.Random,
      among others: [AdvancedOperation],
      _ claims: [Exclusive],
      _ live: CoreStress.Live
    ) -> AdvancedOperation {
      func work(_ inside: CoreStress.Tally? = nil) -> Work {
        Work(
          live,
          Work.Ending.allCases.randomElement(using: &random) ?? .finishes,
          policy: random.chance(30) ? .whenFinishIsCalled : .finishImmediately,
          inside: inside
        )
      }
      switch Int.random(in: 0..<6, using: &random) {
      case 0:
        let token = Work(live, .finishes)
        return ResultOperation(
          retry: .immediate.attempts(Int.random(in: 1...3, using: &random))
        ) {
          await Task.yield()
          if AdvancedOperation.current?.isCancelled == true { throw CancellationError() }
          _ = token.name
          throw Flaw()
        }
      case 1:
        let grandchildren = (0..<Int.random(in: 0...3, using: &random)).map { _ in work() }
        let children = (0..<Int.random(in: 0...4, using: &random)).map { _ in work() }
        let group = GroupOperation(
          errorPolicy: random.chance(50) ? .failFast : .collectAll,
          maxConcurrentOperationCount: random.chance(50) ? 1 : -1
        ) {
          children
          if !grandchildren.isEmpty { GroupOperation { grandchildren } }
        }
        if random.chance(50) { group.onRollback { await Task.yield() } }
        return group
      case 2:
        if let other = others.randomElement(using: &random) as? ResultOperation<Int> {
          return other.then { $0 + 1 }
        }
        return ResultOperation {
          await Task.yield()
          return 1
        }
      case 3:
        let claim = claims[Int.random(in: 0..<claims.count, using: &random)]
        let claiming = work(claim.inside)
        let kinds: [WhenBusy] = [.wait, .wait, .wait, .fail, .skip, .cancelHolder]
        claiming.addClaim(claim.claim(kinds.randomElement(using: &random) ?? .wait))
        return claiming
      case 4:
        let both = work()
        for claim in claims.shuffled(using: &random).prefix(2) {
          both.addClaim(claim.claim(.wait))
        }
        return both
      default: return work()
      }
    }

    private static func attach(
      to operation: AdvancedOperation,
      among others: [AdvancedOperation],
      _ probe: ConditionProbe,
      _ live: CoreStress.Live,
      _ random: inout CoreStress.Random
    ) {
      for _ in 0..<Int.random(in: 0...2, using: &random) {
        if let other = others.randomElement(using: &random) { operation.addDependency(other) }
      }
      if random.chance(30) {
        operation.addCondition(
          BlockCondition("late") {
            await Task.yield()
            return true
          }
        )
      }
      if random.chance(20) { operation.addCondition(NoFailedDependencies()) }
      if random.chance(10) { operation.addCondition(BlockCondition("fails") { throw Flaw() }) }
      if random.chance(10) { operation.addCondition(probe) }
      if random.chance(15) { operation.addCondition(Helped { Work(live, .finishes) }) }
      if random.chance(20) { operation.conditionPolicy = .stopAtFirstFailure }
      if random.chance(20) { operation.addObserver(TimeoutObserver(.seconds(3_600), of: .all)) }
      if random.chance(10) { operation.addObserver(TimeoutObserver(.zero, of: .executing)) }
      if random.chance(10) { operation.onStart { $0.cancel() } }
      if random.chance(20) {
        operation.addObserver(
          BlockObserver(willFinish: { operation, _ in
            // Fails for those by hand.
            try? operation.produce(Work(live, .finishes))
          })
        )
      }
    }

    /// Everything that the outside does, from several tasks at once.
    func run() async throws {
      var random = CoreStress.Random(seed: seed ^ 0xc4a0_5000)
      let cancelled = operations.indices.filter { _ in random.chance(20) }
      let owners = operations.map { _ in Int.random(in: 0..<queues.count, using: &random) }
      let edges = (0..<5).map { _ in
        [0, 1].map { _ in Int.random(in: 0..<operations.count, using: &random) }.sorted()
      }
      let sweeps = random.chance(20)
      await withTaskGroup { group in
        for (index, operation) in operations.enumerated() {
          if byHand.contains(index) {
            group.addTask { operation.start() }
          } else {
            group.addTask { self.queues[owners[index]].addOperation(operation) }
          }
        }
        for index in cancelled {
          group.addTask { self.operations[index].cancel(withError: Flaw()) }
        }
        for queue in queues { group.addTask { await Self.disturb(queue, sweeps: sweeps) } }
        group.addTask {
          for edge in edges where edge[0] != edge[1] && !self.byHand.contains(edge[1]) {
            self.operations[edge[1]].addDependency(self.operations[edge[0]])
            await Task.yield()
            self.operations[edge[1]].removeDependency(self.operations[edge[0]])
          }
        }
        group.addTask {
          await Task.yield()
          self.probe.answer(.satisfied)
        }
      }
      // Not before: what stands in front of a barrier may need what was added behind it.
      for queue in queues { queue.addBarrierBlock {} }
      for operation in operations { try await operation.untilFinished() }
      for queue in queues { try await queue.untilAllOperationsAreFinished() }
    }

    private static func disturb(_ queue: AdvancedOperationQueue, sweeps: Bool) async {
      let limit = queue.maxConcurrentOperationCount
      queue.isSuspended = true
      await Task.yield()
      queue.isSuspended = false
      queue.maxConcurrentOperationCount = 0
      await Task.yield()
      if sweeps { queue.cancelAllOperations() }
      queue.maxConcurrentOperationCount = limit
    }

    /// What went against the promises.
    func problems() async throws -> [String] {
      var problems = zip(operations, watches).flatMap { $1.check($0) }
      for claim in claims where claim.inside.peak > claim.limit {
        problems.append("\(claim.inside.peak) in \(claim.name)")
      }
      for operation in operations.compactMap({ $0 as? Work }) where operation.executions.now > 1 {
        problems.append("\(operation) executed twice")
      }
      // Every claim is free, or it would hang; those that were started by hand are in no queue, so
      // nobody has waited until they gave theirs back.
      let last = AdvancedOperation()
      for claim in claims { last.addClaim(claim.claim(.wait)) }
      queues[0].addOperation(last)
      try await last.untilFinished()
      return problems
    }

    var report: String {
      "seed \(seed): "
        + operations.filter { !$0.isFinished }.map(\.debugDescription)
        .joined(separator: "; ")
    }
  }

  private struct Helped: OperationCondition {
    let make: @Sendable () -> AdvancedOperation

    func dependency(for operation: AdvancedOperation) -> AdvancedOperation? { make() }
    func evaluate(for operation: AdvancedOperation) async -> OperationConditionResult {
      .satisfied
    }
  }
}
