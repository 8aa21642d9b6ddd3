import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport

extension Soak.Builder {
  /// A group that may be finished or cancelled by others while it starts, or be given children
  /// then.
  mutating func makeGroup(depth: Int) -> GroupOperation {
    var children: [Operation] = []
    for _ in 0..<number(0...4) {
      let child = make(depth: depth + 1)
      if let sibling = children.last, chance(30) { child.addDependency(sibling) }
      if chance(15, .outwardChildren), let other = earlier() { child.addDependency(other) }
      children.append(child)
    }
    let group = GroupOperation(
      errorPolicy: chance(50) ? .failFast : .collectAll,
      maxConcurrentOperationCount: pick([-1, -1, 1, 2])
    ) { children }
    let live = live
    if chance(20) { group.mapChildErrors { _, error in error is CancellationError ? nil : error } }
    if chance(30, .rollbacks) {
      group.onRollback { [weak group] in
        await Task.yield()
        group?.onRollback { await Task.yield() }
      }
    }
    if chance(20, .finishedFromOutside) {
      group.onStart { group in Task.detached { if group.state == .executing { group.finish() } } }
    }
    if chance(10) { group.onStart { group in Task.detached { group.cancel() } } }
    if chance(15) {
      group.onStart { group in
        let late = AdvancedStress.Work(live, .finishes)
        _ = (group as? GroupOperation)?.addOperation(late)
      }
    }
    return group
  }

  /// A body with a scope, whose operations only the scope holds.
  mutating func makeScope() -> ResultOperation<Int> {
    let (live, world) = (live, world)
    let (blocks, works) = (number(0...4), number(0...3))
    let (throwsEarly, isAwaited, claims) = (chance(20), chance(50), chance(20, .claims))
    let child = chance(20) ? makeDelay() : nil
    if let child { ledger.note(child) }
    return ResultOperation {
      let environment = AdvancedOperation.current?.environment ?? OperationEnvironment()
      return try await withOperations(environment: environment) { scope in
        if let child, (child as? AdvancedOperation)?.state == .pending { scope.add(child) }
        for _ in 0..<blocks { scope.add(BlockOperation {}) }
        for index in 0..<works {
          let work = AdvancedStress.Work(live, index == 1 ? .fails : .finishesElsewhere)
          if claims { work.addClaim(world.claims[2].claim(.wait)) }
          scope.add(work)
        }
        let last = scope.add(ResultOperation { 1 })
        if throwsEarly { throw Soak.Flaw() }
        return isAwaited ? try await last.value : 0
      }
    }
  }

  // MARK: What is attached

  mutating func attach(to operation: AdvancedOperation) {
    attachConditions(to: operation)
    if chance(25, .claims) { attachClaim(to: operation) }
    if chance(15, .rates) { operation.addClaim(makeRate()) }
    if chance(20, .timeouts) {
      let phase = pick(TimeoutObserver.Phase.allCases)
      operation.addObserver(TimeoutObserver(makeDuration(), of: phase))
    }
    if chance(10) { operation.onStart { $0.cancel() } }
    if chance(5) { operation.onFinish { operation, _ in operation.cancel() } }
    if chance(10) {
      let live = live
      operation.addObserver(
        BlockObserver(willFinish: { operation, _ in
          // Fails for those by hand.
          try? operation.produce(AdvancedStress.Work(live, .finishes))
        })
      )
    }
  }

  private mutating func attachConditions(to operation: AdvancedOperation) {
    if chance(20) {
      operation.addCondition(
        BlockCondition("late") {
          await Task.yield()
          return true
        }
      )
    }
    if chance(15) { operation.addCondition(Immediately(result: .satisfied)) }
    if chance(5) { operation.addCondition(Immediately(result: .skipped(reason: "no need"))) }
    if chance(10) {
      operation.addCondition(!BlockCondition("not") { false } && BlockCondition("and") { true })
    }
    if chance(10) { operation.addCondition(BlockCondition("fails") { throw Soak.Flaw() }) }
    if chance(10) { operation.addCondition(NoFailedDependencies()) }
    if chance(5) {
      operation.addCondition(
        DependencyRule("late") { $0.contains { $0 == nil } ? .undecided : .satisfied }
      )
    }
    if chance(20, .prerequisites) { operation.addCondition(makeHelped(operation)) }
    if chance(20) { operation.conditionPolicy = .stopAtFirstFailure }
  }

  private mutating func makeHelped(_ operation: AdvancedOperation) -> any OperationCondition {
    let live = live
    switch number(0...4) {
    case 0 where Soak.features.contains(.prerequisiteCycles):
      return Helped { $0 }
    case 1 where Soak.features.contains(.prerequisiteCycles):
      return Helped { operation in
        let prerequisite = AdvancedStress.Work(live, .finishes)
        prerequisite.addDependency(operation)
        return prerequisite
      } || Helped { _ in nil }
    case 2:
      // One for several: only the first to ask adds it.
      let shared = AdvancedStress.Work(live, .finishesElsewhere)
      return Helped { _ in shared }
    case 3:
      return Helped { _ in ResultOperation { throw Soak.Flaw() } }
    default:
      return Helped { _ in AdvancedStress.Work(live, .finishes) }
    }
  }

  private mutating func attachClaim(to operation: AdvancedOperation) {
    let busy = makeBusy()
    switch number(0...2) {
    case 0: operation.addClaim(ResourceUnits(number(1...4), of: world.pool, whenBusy: busy))
    case 1: operation.addClaim(MutuallyExclusive("alone \(number(0...3))", whenBusy: busy))
    default:
      operation.addClaim(MutuallyExclusive("few", limit: 2, whenBusy: busy))
      operation.addClaim(ResourceUnits(1, of: world.pool))
    }
  }

  private mutating func makeRate() -> RateLimit {
    if chance(20, .longDurations) {
      // A second start would never come: it must not be waited for.
      let refusal: WhenBusy = chance(50) ? .fail : .skip
      return RateLimit("once", 1, per: .seconds(Int64.max), whenBusy: refusal)
    }
    return RateLimit(
      "rate \(number(0...2))",
      number(1...3),
      per: .microseconds(number(1...100)),
      whenBusy: makeBusy()
    )
  }
}

private struct Immediately: ImmediateCondition {
  let result: OperationConditionResult
  func check(_ operation: AdvancedOperation) -> OperationConditionResult { result }
}

private struct Helped: OperationCondition {
  let make: @Sendable (AdvancedOperation) -> AdvancedOperation?

  init(_ make: @escaping @Sendable (AdvancedOperation) -> AdvancedOperation?) { self.make = make }

  func dependency(for operation: AdvancedOperation) -> AdvancedOperation? { make(operation) }
  func evaluate(for operation: AdvancedOperation) async -> OperationConditionResult { .satisfied }
}
