import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport

extension Soak {
  /// Makes the operations of one program.
  struct Builder {
    var random: CoreStress.Random
    let world: World
    let environments: [OperationEnvironment]
    let live: CoreStress.Live
    let ledger: Ledger
    let endless: Endless
    /// Those that others may depend on, in the order in which they were made.
    private(set) var made: [Operation] = []

    init(
      seed: UInt64,
      _ world: World,
      _ environments: [OperationEnvironment],
      _ live: CoreStress.Live,
      _ ledger: Ledger,
      _ endless: Endless
    ) {
      random = CoreStress.Random(seed: seed)
      self.world = world
      self.environments = environments
      self.live = live
      self.ledger = ledger
      self.endless = endless
    }

    mutating func chance(_ percent: Int, _ feature: Feature? = nil) -> Bool {
      let isDrawn = random.chance(percent)
      return isDrawn && feature.map { Soak.features.contains($0) } ?? true
    }

    mutating func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }

    mutating func pick<Element>(_ elements: [Element]) -> Element {
      elements[number(0...elements.count - 1)]
    }

    mutating func earlier() -> Operation? { made.randomElement(using: &random) }

    // MARK: Operations

    /// One that is added to a queue; it may depend on those that were made before.
    mutating func makeMember(_ number: Int) -> Operation {
      let operation = make(depth: 0)
      operation.name = "o\(number)"
      for _ in 0..<self.number(0...2) where chance(50) {
        if let other = earlier() { operation.addDependency(other) }
      }
      made.append(operation)
      return operation
    }

    mutating func make(depth: Int) -> Operation {
      let operation: Operation
      switch number(0...11) {
      case 0, 1: operation = makeBlock()
      case 2: operation = makeBody()
      case 3: operation = makeChain()
      case 4...5 where depth < 2 && Soak.features.contains(.groups):
        operation = makeGroup(depth: depth)
      case 6 where Soak.features.contains(.rounds): operation = makeRounds()
      case 7: operation = makeDelay()
      case 8 where Soak.features.contains(.scopes): operation = makeScope()
      case 9 where Soak.features.contains(.claims):
        operation = chance(30) ? makeClaimingBody() : makeClaiming()
      default: operation = makeWork()
      }
      operation.queuePriority = pick([.normal, .normal, .veryHigh, .low])
      if let advanced = operation as? AdvancedOperation { attach(to: advanced) }
      ledger.note(operation)
      return operation
    }

    mutating func makeBlock() -> Operation {
      let block = BlockOperation {}
      if chance(20) { block.addExecutionBlock {} }
      if chance(20) { block.completionBlock = {} }
      return block
    }

    mutating func makeWork(inside: CoreStress.Tally? = nil) -> AdvancedStress.Work {
      AdvancedStress.Work(
        live,
        pick(AdvancedStress.Work.Ending.allCases),
        policy: chance(30) ? .whenFinishIsCalled : .finishImmediately,
        inside: inside
      )
    }

    /// A body that suspends, and may wait for another operation.
    mutating func makeBody() -> ResultOperation<Int> {
      let fails = chance(20)
      let yields = number(0...3)
      let other = chance(25, .bodyWaits) ? earlier() : nil
      let sleeps = chance(20)
      let retry: RetryPolicy? = chance(30) ? makePolicy() : nil
      return ResultOperation(retry: retry) { [weak other] in
        for _ in 0..<yields { await Task.yield() }
        if let clock = AdvancedOperation.current?.environment.clock, sleeps {
          try await clock.sleep(until: clock.now + .microseconds(20))
        }
        if let other { try await other.untilFinished() }
        if fails { throw Flaw() }
        return yields
      }
    }

    mutating func makePolicy() -> RetryPolicy {
      let attempts = number(1...3)
      let policies: [RetryPolicy] = [
        .immediate.attempts(attempts), .constant(.microseconds(5)).attempts(attempts),
        .exponential(.microseconds(1)).jittered().attempts(attempts),
      ]
      let policy = chance(40) ? pick(policies).releasingSlot() : pick(policies)
      if chance(20) { return policy.attemptTimeout(makeDuration()) }
      if chance(20) { return policy.totalTimeout(makeDuration()) }
      return policy
    }

    /// From nothing to longer than any clock counts.
    mutating func makeDuration() -> Duration {
      if chance(20, .longDurations) { return .seconds(Int64.max) }
      return pick([.zero, .nanoseconds(1), .microseconds(50), .milliseconds(1), .seconds(3_600)])
    }

    mutating func makeChain() -> Operation {
      let environment = pick(environments)
      let queue = AdvancedOperationQueue(environment: environment)
      var last = makeBody()
      ledger.note(last)
      for _ in 0..<number(1...5) {
        queue.addOperation(last)
        last = last.then { $0 + 1 }
        if chance(10) { last.addCondition(NoFailedDependencies()) }
      }
      return last
    }

    mutating func makeDelay() -> Operation {
      let duration = makeDuration()
      let delay = DelayOperation(duration)
      if duration > .seconds(1) { endless.note(delay) }
      return delay
    }

    mutating func makeRounds() -> Operation {
      let (live, fails) = (live, chance(50))
      let make: @Sendable (Int) -> AdvancedOperation = { number in
        fails && number == 1
          ? ResultOperation { throw Flaw() } : AdvancedStress.Work(live, .finishesElsewhere)
      }
      if chance(50) { return RetryOperation(retry: makePolicy(), make: make) }
      return RepeatOperation(times: number(0...3), every: .microseconds(number(0...5)), make: make)
    }

    mutating func makeClaiming() -> Operation {
      let claim = pick(world.claims)
      let claiming = makeWork(inside: claim.inside)
      claiming.addClaim(claim.claim(makeBusy()))
      return claiming
    }

    /// A body that tries again, and has neither slot nor claim between two attempts.
    mutating func makeClaimingBody() -> Operation {
      let claim = pick(world.claims)
      let inside = claim.inside
      let failures = number(0...2)
      let policy = makePolicy().releasingSlot()
      let claiming = ResultOperation(retry: policy) {
        inside.add()
        defer { inside.add(-1) }
        await Task.yield()
        let attempt = AdvancedOperation.current?.attempt ?? 0
        if attempt <= failures { throw Flaw() }
      }
      claiming.addClaim(claim.claim(makeBusy()))
      return claiming
    }

    mutating func makeBusy() -> WhenBusy {
      pick([.wait, .wait, .wait, .fail, .skip, .cancelHolder])
    }
  }
}
