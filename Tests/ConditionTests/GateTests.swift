import AdvancedOperationsTesting
import AdvancedTestSupport
import CoreOperations
import TestSupport
import Testing

@testable import AdvancedOperations

/// Gates: operations wait while they are closed, and hold nothing.
@Suite(.watched) struct `Gates` {
  private static func guarded(_ name: String, by condition: any OperationCondition) -> Work {
    let work = Work(name)
    work.addCondition(condition)
    return work
  }

  @Test func `an open gate is no wait`() {
    let world = World()
    let work = Self.guarded("work", by: Gate("network"))
    world.run(work)
    #expect(work.kind == .succeeded)
  }

  @Test func `10,000 operations wait without a slot or a thread, and start in their order`() {
    let count = Effort.size(10_000)
    let world = World(limit: 1)
    let gate = Gate("network", isOpen: false)
    let started = Log<Int>()
    let works = (0..<count).map { number in
      let work = Work { work in
        started.add(number)
        work.finish()
      }
      work.addCondition(gate)
      return work
    }
    world.queue.addOperations(works)
    world.simulation.run()
    #expect(works.allSatisfy { $0.state == .evaluatingConditions })
    // The only slot is free, and so are all threads.
    let other = Work("other")
    world.run(other)
    #expect(other.kind == .succeeded)
    #expect(started.entries.isEmpty)
    gate.open()
    world.simulation.run()
    #expect(Set(started.entries).count == count)
    #expect(world.queue.operationCount == 0)
  }

  @Test(arguments: seeds)
  func `an operation doesn't start if its gate closes while it waits for a slot`(seed: UInt64) {
    let world = World(seed: seed, limit: 1)
    let gate = Gate("network")
    let holder = Work.open("holder")
    let work = Self.guarded("work", by: gate)
    world.run(holder)
    world.run(work)
    #expect(work.state == .ready)
    gate.close(reason: "offline")
    holder.finish()
    world.simulation.run()
    #expect(!work.didExecute)
    #expect("\(work.explain())".hasPrefix("work waits for gate “network”: offline"))
    // Its slot is free.
    let other = Work("other")
    world.run(other)
    #expect(other.kind == .succeeded)
    gate.open()
    world.simulation.run()
    #expect(work.kind == .succeeded)
  }

  @Test(arguments: seeds)
  func `an operation returns a granted claim if its gate has closed`(seed: UInt64) {
    let world = World(seed: seed)
    let gate = Gate("network")
    let claim = MutuallyExclusive("db")
    let holder = Work.claiming("holder", claim)
    world.run(holder)
    let work = Self.guarded("work", by: gate)
    work.addClaim(claim)
    let other = Work("other")
    other.addClaim(claim)
    world.run(work)
    world.run(other)
    gate.close()
    holder.finish()
    world.simulation.run()
    #expect(!work.didExecute)
    #expect(other.kind == .succeeded)
    gate.open()
    world.simulation.run()
    #expect(work.kind == .succeeded)
  }

  @Test func `an operation behind a closed gate doesn't cancel the holder of its claim`() {
    let world = World(limit: 2)
    let gate = Gate("network")
    let slots = (0..<2).map { Work.open("slot \($0)") }
    for slot in slots { world.run(slot) }
    let work = Self.guarded("work", by: gate)
    work.addClaim(MutuallyExclusive("db", whenBusy: .cancelHolder))
    world.run(work)
    gate.close()
    slots[0].finish()
    let holder = Work.claiming("holder", MutuallyExclusive("db"))
    holder.queuePriority = .veryHigh
    world.run(holder)
    #expect(holder.isExecuting)
    slots[1].finish()
    world.simulation.run()
    #expect(!holder.isCancelled)
    gate.open()
    world.simulation.run()
    #expect(holder.isCancelled)
    #expect(work.kind == .succeeded)
  }

  @Test func `a gate that refuses fails those that wait and later ones, until it is opened`() {
    let world = World(limit: 1)
    let gate = Gate("network")
    let holder = Work.open("holder")
    world.run(holder)
    let atStart = Self.guarded("at start", by: gate)
    world.run(atStart)
    gate.close()
    holder.finish()
    world.simulation.run()
    let waiting = Self.guarded("waiting", by: gate)
    world.run(waiting)
    gate.refuse(Flaw(1))
    let later = Self.guarded("later", by: gate)
    world.run(later)
    for work in [atStart, waiting, later] {
      #expect(work.flawNumbers == [1])
      #expect(!work.didExecute)
    }
    gate.open()
    let last = Self.guarded("last", by: gate)
    world.run(last)
    #expect(last.kind == .succeeded)
  }

  @Test func `a cancel ends the wait in both places`() {
    let world = World(limit: 1)
    let gate = Gate("network")
    let holder = Work.open("holder")
    world.run(holder)
    let atStart = Self.guarded("at start", by: gate)
    world.run(atStart)
    gate.close()
    holder.finish()
    let waiting = Self.guarded("waiting", by: gate)
    world.run(waiting)
    for work in [atStart, waiting] { work.cancel(withError: Flaw(2)) }
    world.simulation.run()
    for work in [atStart, waiting] { #expect(work.kind == .cancelled) }
    #expect(world.queue.operationCount == 0)
    gate.open()
    world.simulation.run()
    #expect(!atStart.didExecute && !waiting.didExecute)
  }

  @Test func `a time limit of the wait applies in both places`() {
    let world = World(limit: 1)
    let gate = Gate("network")
    let holder = world.taking(5, "holder")
    let work = Self.guarded("work", by: gate)
    work.addObserver(TimeoutObserver(.seconds(60), of: .waiting))
    world.queue.addOperations([holder, work])
    world.simulation.advance(by: .seconds(1))
    gate.close()
    let late = Self.guarded("late", by: gate)
    late.addObserver(TimeoutObserver(.seconds(60), of: .evaluating))
    world.queue.addOperation(late)
    world.simulation.run()
    #expect(work.errors.first is OperationTimeout)
    #expect(late.errors.first is OperationTimeout)
    #expect(world.simulation.now == .seconds(61))
  }

  @Test(arguments: seeds)
  func `no operation starts while the gate is closed, whoever flips it`(seed: UInt64) {
    let world = World(seed: seed, limit: 2)
    let gate = Gate("network", isOpen: false)
    let isWrong = Changing(false)
    let works = (0..<50).map { _ in
      let work = Work { work in
        if !gate.isOpen { isWrong.value = true }
        work.finish()
      }
      work.addCondition(gate)
      return work
    }
    world.queue.addOperations(works)
    var random = Random(seed)
    while works.contains(where: { !$0.isFinished }) {
      if Bool.random(using: &random) { gate.open() } else { gate.close() }
      for _ in 0..<Int.random(in: 0...9, using: &random) { _ = world.simulation.step() }
    }
    #expect(!isWrong.value)
    #expect(works.allSatisfy { $0.kind == .succeeded })
  }

  @Test func `a gate lets operations pass on threads`() async throws {
    for _ in 0..<Effort.rounds(50) {
      let queue = AdvancedOperationQueue()
      let gate = Gate("network", isOpen: false)
      let works = (0..<8).map { Self.guarded("work \($0)", by: gate) }
      await together(
        { queue.addOperations(works) },
        {
          for _ in 0..<8 {
            gate.open()
            gate.close()
          }
          gate.open()
        }
      )
      try await queue.untilAllOperationsAreFinished()
      #expect(works.allSatisfy { $0.kind == .succeeded })
    }
  }

  // MARK: Compounds

  @Test func `a negated gate answers without waiting`() {
    let world = World()
    let gate = Gate("maintenance", isOpen: false)
    let closed = Self.guarded("closed", by: !gate)
    world.run(closed)
    #expect(closed.kind == .succeeded)
    gate.open()
    let open = Self.guarded("open", by: !gate)
    world.run(open)
    #expect(open.kind == .failed)
  }

  @Test func `a gate in a compound condition is waited for, also at the start`() {
    let world = World(limit: 1)
    let gate = Gate("network", isOpen: false)
    let evaluations = Counter()
    let other = Asked("other") { _ in
      evaluations.add()
      return .satisfied
    }
    let all = Self.guarded("all", by: gate && other)
    world.run(all)
    #expect(all.state == .evaluatingConditions)
    #expect(evaluations.count == 0)
    let holder = Work.open("holder")
    world.run(holder)
    gate.open()
    world.simulation.run()
    #expect(evaluations.count == 1)
    gate.close(reason: "offline")
    holder.finish()
    world.simulation.run()
    #expect(!all.didExecute)
    #expect(all.explain().causes.map(\.kind) == [.gate])
    gate.open()
    world.simulation.run()
    #expect(all.kind == .succeeded)
    #expect(evaluations.count == 1)
  }

  @Test func `a failing part refuses although the gate is closed at the start`() {
    let world = World(limit: 1)
    let gate = Gate("network")
    let answer = Changing(OperationConditionResult.satisfied)
    let holder = Work.open("holder")
    world.run(holder)
    let work = Self.guarded("work", by: gate && Immediate { _ in answer.value })
    world.run(work)
    gate.close()
    answer.value = .failed(Flaw(3))
    holder.finish()
    world.simulation.run()
    #expect(work.kind == .failed)
    #expect(work.outcome?.failure?.first(Flaw.self) == Flaw(3))
  }

  @Test func `conditions in order come after the gate, with their prerequisites`() {
    let world = World()
    let gate = Gate("network", isOpen: false)
    let signIn = Work("sign in")
    let work = Work("work")
    work.conditionPolicy = .stopAtFirstFailure
    work.addCondition(gate)
    work.addCondition(Asked("signed in", prerequisite: { _ in signIn }))
    world.run(work)
    #expect(!signIn.didExecute)
    gate.open()
    world.simulation.run()
    #expect(signIn.didExecute)
    #expect(work.kind == .succeeded)
  }

  // MARK: Explanations

  @Test func `explanations name the gate, its reason, and the remedy`() {
    let world = World()
    world.queue.name = "uploads"
    let gate = Gate("network", isOpen: false)
    let works = ["a", "b"].map { Self.guarded($0, by: gate) }
    world.queue.addOperations(works)
    world.simulation.advance(by: .seconds(3))
    #expect(
      "\(works[0].explain())" == """
        a waits for gate “network” for 3 s: The gate is closed.
        needed: gate “network” has to be opened
        """
    )
    gate.close(reason: "flight mode")
    world.simulation.advance(by: .seconds(1))
    let cause = works[0].explain().causes.first
    #expect(cause?.kind == .gate)
    #expect(cause?.requirement == "network")
    #expect(cause?.duration == .seconds(4))
    #expect(
      "\(world.queue.explain())" == """
        queue “uploads”: 2 operations, 0 executing
          2 operations (a, b): each waits for gate “network” for 4 s: flight mode
        needed: gate “network” has to be opened
        """
    )
    #expect(world.simulation.strays.isEmpty)
    gate.open()
    world.simulation.run()
    #expect(works.allSatisfy { $0.kind == .succeeded })
  }

  @Test func `a gate releases an operation that was cancelled`() {
    let gate = Gate("network")
    let tokens = LiveCount()
    for isAtStart in [true, false] {
      let world = World(limit: 1)
      if !isAtStart { gate.close() }
      let holder = Work.open("holder")
      world.run(holder)
      let work = Work("work", token: tokens.token())
      work.addCondition(gate)
      world.run(work)
      gate.close()
      holder.finish()
      world.simulation.run()
      work.cancel()
      world.simulation.run()
      #expect(world.queue.operationCount == 0)
      gate.open()
    }
    #expect(tokens.alive == 0)
  }
}

/// Each order of opening, closing, cancelling and starting.
@Suite(.watched) struct `Gates in any order` {
  @Test func `a gate that is flipped, and a cancel`() throws {
    let report = try exploreSchedules(
      depthFirst: Effort.schedules(2_000),
      randomSchedules: Effort.drawn(200)
    ) { simulation in
      let queue = AdvancedOperationQueue(
        maxConcurrentOperationCount: 1,
        environment: simulation.environment
      )
      let gate = Gate("network")
      let isWrong = Changing(false)
      let works = ["a", "b"].map { name in
        let work = Work(name) { work in
          if !gate.isOpen { isWrong.value = true }
          work.finish()
        }
        work.addCondition(gate)
        work.addClaim(MutuallyExclusive("db"))
        return work
      }
      queue.addOperations(works)
      simulation.addStep("close", atAnyTime: true) { gate.close() }
      simulation.addStep("cancel", atAnyTime: true) { works[0].cancel() }
      simulation.run()
      gate.open()
      simulation.run()
      try #require(!isWrong.value)
      try #require(works[1].kind == .succeeded)
      try #require(works[0].kind == (works[0].didExecute ? .succeeded : .cancelled))
      try #require(queue.operationCount == 0)
    }
    #expect(report.scheduleCount > 50)
  }

  #if DEBUG
  @Test func `a gate that opens in the middle of a step is never missed`() async throws {
    let result = await onThread {
      Result {
        try exploreSchedules(
          interruptions: 1,
          depthFirst: Effort.schedules(1_500),
          randomSchedules: Effort.drawn(300)
        ) { simulation in
          let queue = AdvancedOperationQueue(environment: simulation.environment)
          let gate = Gate("network", isOpen: false)
          let work = Work("work")
          work.addCondition(gate)
          queue.addOperation(work)
          simulation.addStep("open", atAnyTime: true) { gate.open() }
          simulation.run()
          try #require(work.kind == .succeeded)
        }
      }
    }
    _ = try result.get()
  }

  @Test func `a gate that two threads change has one state for all conditions`() async throws {
    let result = await onThread {
      Result {
        try exploreSchedules(
          interruptions: 2,
          depthFirst: Effort.schedules(1_500),
          randomSchedules: Effort.drawn(300)
        ) { simulation in
          let gate = Gate("network", isOpen: false)
          simulation.addStep("refuse") { gate.refuse(Flaw(1)) }
          simulation.addStep("close") { gate.close() }
          simulation.run()
          let refuses = gate.immediateResult(for: Work("work")) != nil
          let refusesOthers = gate.changes.look.end != nil
          try #require(refuses == refusesOthers)
        }
      }
    }
    #expect(try result.get().isComplete)
  }
  #endif

  @Test func `a gate that opens while operations evaluate it is never missed`() throws {
    let report = try exploreSchedules(
      depthFirst: Effort.schedules(2_000),
      randomSchedules: Effort.drawn(200)
    ) { simulation in
      let queue = AdvancedOperationQueue(environment: simulation.environment)
      let gate = Gate("network", isOpen: false)
      let isReady = Changing(false)
      let signal = Gate("signal")
      let work = Work("work")
      work.addCondition(gate)
      work.addCondition(
        Immediate { _ in isReady.value ? .satisfied : .failed(Flaw(1)) }.waiting(for: signal)
      )
      queue.addOperation(work)
      simulation.addStep("open", atAnyTime: true) { gate.open() }
      simulation.addStep("change", atAnyTime: true) {
        isReady.value = true
        signal.lookAgain()
      }
      simulation.run()
      try #require(work.kind == .succeeded)
    }
    #expect(report.scheduleCount > 20)
  }
}
