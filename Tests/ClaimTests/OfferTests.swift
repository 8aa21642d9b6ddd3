import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import TestSupport
import Testing

/// What is released is offered to the first waiter before its queue is asked for a slot, and no
/// lock is held over both: anything may happen in between.
@Suite(.watched) struct `An offered claim` {
  /// Something that happens while the claim is offered.
  enum Call: String, CaseIterable, Sendable {
    case nothing, suspend, fill, cancel, depend, skip, preempt, newcomer, priority
  }

  /// A holder ends; a waiter and a follower are next, each in a queue of its own.
  private static func run(_ call: Call, limit: Int, in simulation: SimulatedEnvironment) throws {
    func makeQueue(_ limit: Int = -1) -> AdvancedOperationQueue {
      let queue = AdvancedOperationQueue(environment: simulation.environment)
      queue.maxConcurrentOperationCount = limit
      return queue
    }
    func expect(_ isTrue: Bool, _ text: @autoclosure () -> String) throws {
      if !isTrue { throw Witness.Violation(description: text()) }
    }
    let inside = Counter()
    let order = Log<String>()
    func make(_ name: String, _ whenBusy: WhenBusy = .wait) -> Work {
      let work = Work(name) { work in
        inside.add()
        order.add(name)
        inside.add(-1)
        work.finish()
      }
      work.addClaim(MutuallyExclusive("a", whenBusy: whenBusy))
      return work
    }
    let (holderQueue, queue, otherQueue) = (makeQueue(), makeQueue(limit), makeQueue())
    let holder = Work.claiming("holder", MutuallyExclusive("a"))
    holderQueue.addOperation(holder)
    simulation.run()
    let (waiter, follower) = (make("waiter"), make("follower"))
    queue.addOperation(waiter)
    simulation.run()
    otherQueue.addOperation(follower)
    simulation.run()

    simulation.addStep("finish") { holder.finish() }
    let (busy, late) = (Work("busy"), Work("late"))
    var newcomer: Work?
    switch call {
    case .nothing: break
    case .suspend: simulation.addStep("suspend") { queue.isSuspended = true }
    case .fill: simulation.addStep("fill") { queue.addOperation(busy) }
    case .cancel: simulation.addStep("cancel") { waiter.cancel() }
    case .depend:
      simulation.addStep("depend") {
        waiter.addDependency(late)
        waiter.removeDependency(late)
      }
    case .skip: newcomer = make("newcomer", .skip)
    case .preempt: newcomer = make("newcomer", .cancelHolder)
    case .newcomer: newcomer = make("newcomer")
    case .priority: simulation.addStep("priority") { waiter.queuePriority = .veryHigh }
    }
    if let newcomer { simulation.addStep("add") { otherQueue.addOperation(newcomer) } }
    simulation.run()
    if queue.isSuspended {
      try expect(follower.isFinished, "a suspended queue keeps \(follower) waiting")
      queue.isSuspended = false
      simulation.run()
    }
    for work in [waiter, follower] + (newcomer.map { [$0] } ?? []) {
      let isMeant =
        switch (call, work.kind) {
        case (_, .succeeded): true
        case (.cancel, .cancelled): work === waiter
        case (.skip, .skipped): work === newcomer
        // It was the one that held the claim when the newcomer came.
        case (.preempt, .cancelled): work !== newcomer
        default: false
        }
      try expect(isMeant, "\(work) ended as \(work.kind.map { "\($0)" } ?? "nothing")")
    }
    try expect(inside.peak <= 1, "\(inside.peak) are inside")
    // Who waits first starts first, if its queue can start it.
    let isFirst = order.entries.first == "waiter"
    let mayBePassed =
      call == .suspend || call == .depend || call == .fill && limit == 1 || !waiter.didExecute
    try expect(isFirst || mayBePassed, "\(order.entries)")
    let last = make("last", .fail)
    otherQueue.addOperation(last)
    simulation.run()
    try expect(last.kind == .succeeded, "something was kept: \(last.explain())")
  }

  @Test(arguments: Call.allCases, [-1, 1])
  func `an offered claim is held by one operation in FIFO order and released`(
    call: Call,
    limit: Int
  ) async throws {
    let report = try await offPool {
      try exploreSchedules(depthFirst: Effort.schedules(3_000), randomSchedules: Effort.drawn(200))
      {
        try Self.run(call, limit: limit, in: $0)
      }
    }
    print("\(call), \(limit): \(report)")
  }

  #if DEBUG
  @Test(arguments: Call.allCases, [-1, 1])
  func `an offered claim survives interruptions at any step`(
    call: Call,
    limit: Int
  ) async throws {
    let report = try await offPool {
      try exploreSchedules(
        interruptions: Effort.isNightly ? 2 : 1,
        depthFirst: Effort.schedules(300, nightly: 20_000),
        randomSchedules: Effort.drawn(30, nightly: 5_000)
      ) { try Self.run(call, limit: limit, in: $0) }
    }
    print("\(call), \(limit), interrupted: \(report)")
  }

  /// Its queue was suspended all the time, so it held nothing that anyone could take over.
  @Test
  func `an offered claim isn't taken over from an operation whose queue can't start it`()
    async throws
  {
    let report = try await offPool {
      try exploreSchedules(interruptions: 1, depthFirst: Effort.schedules(2_000)) { simulation in
        let queues = (0..<3).map { _ in
          AdvancedOperationQueue(environment: simulation.environment)
        }
        let holder = Work.claiming("holder", MutuallyExclusive("a"))
        let waiter = Work.claiming("waiter", MutuallyExclusive("a"))
        let newcomer = Work("newcomer")
        newcomer.addClaim(MutuallyExclusive("a", whenBusy: .cancelHolder))
        for (queue, work) in zip(queues, [holder, waiter]) {
          queue.addOperation(work)
          simulation.run()
        }
        queues[1].isSuspended = true
        simulation.addStep("finish") { if !holder.isFinished { holder.finish() } }
        simulation.addStep("add") { queues[2].addOperation(newcomer) }
        simulation.run()
        if newcomer.kind != .succeeded || waiter.isCancelled {
          throw Witness.Violation(description: "\(newcomer), \(waiter)")
        }
        waiter.cancel()
        queues[1].isSuspended = false
        simulation.run()
      }
    }
    print(report)
  }
  #endif

  @Test
  func `an offered claim is released on threads while queues are suspended and resumed`()
    async throws
  {
    let domain = ClaimDomain()
    let pool = ResourcePool(capacity: 3, domain: domain)
    let queues = (0..<4).map { number in
      let queue = AdvancedOperationQueue(environment: OperationEnvironment(claimDomain: domain))
      if number > 1 { queue.maxConcurrentOperationCount = number - 1 }
      return queue
    }
    let (alone, units) = (Counter(), Counter())
    var random = Random(11)
    var works: [Work] = []
    for number in 0..<Effort.rounds(500) {
      let count = Int.random(in: 0...3, using: &random)
      let isAlone = Bool.random(using: &random)
      let work = Work("w\(number)") { work in
        if isAlone { alone.add() }
        units.add(count)
        units.add(-count)
        if isAlone { alone.add(-1) }
        work.finish()
      }
      if isAlone { work.addClaim(MutuallyExclusive("a")) }
      work.addClaim(ResourceUnits(count, of: pool))
      works.append(work)
      queues.randomElement(using: &random)?.addOperation(work)
      switch Int.random(in: 0..<8, using: &random) {
      case 0: queues.randomElement(using: &random)?.isSuspended.toggle()
      case 1: works.randomElement(using: &random)?.cancel()
      default: break
      }
    }
    for queue in queues { queue.isSuspended = false }
    for queue in queues { try await queue.untilAllOperationsAreFinished() }
    #expect(alone.peak <= 1)
    #expect(units.peak <= 3)
    #expect(works.allSatisfy { $0.kind == .succeeded || $0.kind == .cancelled })
    let free = Work.claiming("free", MutuallyExclusive("a", whenBusy: .fail))
    free.addClaim(ResourceUnits(3, of: pool, whenBusy: .fail))
    free.onStart { $0.finish() }
    queues[0].addOperation(free)
    try await free.untilFinished()
    #expect(free.kind == .succeeded)
  }
}
