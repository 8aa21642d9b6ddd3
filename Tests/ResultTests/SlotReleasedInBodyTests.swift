import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import TestSupport
import Testing

/// An operation whose body does something before, inside of and after `releasingSlot`.
private func releasing(
  _ name: String,
  in world: World,
  before: Int = 0,
  after: Int = 0,
  log: Log<String> = Log(),
  _ inside: @escaping @Sendable () async throws -> Void
) -> ResultOperation<Void> {
  let clock = world.simulation.environment.clock
  return ResultOperation(name: name) {
    try await clock.sleep(for: .seconds(before))
    try await releasingSlot {
      log.add("\(name) releases at \(clock.now.components.seconds)")
      try await inside()
    }
    log.add("\(name) continues at \(clock.now.components.seconds)")
    try await clock.sleep(for: .seconds(after))
  }
}

@Suite(.watched) struct `A body that releases its slot while it awaits` {
  // MARK: The slot

  @Test(arguments: seeds)
  func `a body without its slot can await an operation of the same queue`(seed: UInt64) throws {
    let world = World(seed: seed, limit: 1)
    let (queue, log) = (world.queue, Log<String>())
    let inner = world.body("inner", seconds: 2)
    let outer = releasing("outer", in: world, before: 1, after: 3, log: log) {
      try await queue.run(inner)
    }
    world.run(outer)
    #expect(log.entries == ["outer releases at 1", "outer continues at 3"])
    #expect(outer.kind == .succeeded)
    #expect(world.simulation.environment.clock.now == .seconds(6))
    #expect(queue.operationCount == 0)
  }

  @Test func `a hundred nested bodies run one at a time in a queue with one slot`() throws {
    let world = World(limit: 1)
    let (queue, clock) = (world.queue, world.simulation.environment.clock)
    let inside = Counter()
    @Sendable func operation(_ depth: Int) -> ResultOperation<Int> {
      ResultOperation(name: "\(depth)") {
        func work() async throws {
          #expect(inside.add() == 1)
          try await clock.sleep(for: .seconds(1))
          inside.add(-1)
        }
        try await work()
        let value = try await releasingSlot {
          depth == 1 ? 0 : try await queue.run(operation(depth - 1))
        }
        try await work()
        return value + 1
      }
    }
    let outermost = operation(100)
    world.run(outermost)
    #expect(try outermost.result?.get() == 100)
    #expect(clock.now == .seconds(200))
    #expect(queue.operationCount == 0)
  }

  @Test(arguments: seeds)
  func `a body takes its slot again before operations that were added later`(seed: UInt64) {
    let world = World(seed: seed, limit: 1)
    let (clock, log, others) = (world.simulation.environment.clock, Log<String>(), Log<Duration>())
    let work = releasing("work", in: world, log: log) { try await clock.sleep(for: .seconds(10)) }
    world.run(
      work,
      world.body("first", seconds: 20, times: others),
      world.body("second", seconds: 5, times: others)
    )
    #expect(log.entries == ["work releases at 0", "work continues at 20"])
    #expect(others.entries == [.zero, .seconds(20)])
  }

  @Test(arguments: seeds)
  func `an operation of a higher priority gets the slot first`(seed: UInt64) {
    let world = World(seed: seed, limit: 1)
    let (clock, log, others) = (world.simulation.environment.clock, Log<String>(), Log<Duration>())
    let work = releasing("work", in: world, log: log) { try await clock.sleep(for: .seconds(10)) }
    let high = world.body("high", seconds: 5, times: others)
    high.queuePriority = .high
    world.queue.addOperations([work, world.body("first", seconds: 20)])
    world.simulation.run(until: .seconds(15))
    world.run(high)
    #expect(others.entries == [.seconds(20)])
    #expect(log.entries.last == "work continues at 25")
  }

  @Test(arguments: seeds)
  func `a body has a slot again if its closure doesn't suspend, or throws`(seed: UInt64) {
    let world = World(seed: seed, limit: 1)
    let inside = Counter()
    let operations = (0..<3).map { number in
      ResultOperation<Int>(name: "\(number)") {
        for _ in 0..<5 {
          #expect(await releasingSlot { number } == number)
          do {
            try await releasingSlot { throw Flaw(number) }
            Issue.record("it didn't throw")
          } catch { #expect(error as? Flaw == Flaw(number)) }
          #expect(inside.add() == 1)
          await Task.yield()
          inside.add(-1)
        }
        return number
      }
    }
    world.queue.addOperations(operations)
    world.simulation.run()
    #expect(operations.allSatisfy { $0.kind == .succeeded })
  }

  @Test func `an operation stays executing, and a member, while other operations use its slot`() {
    let world = World(limit: 1)
    let clock = world.simulation.environment.clock
    let work = releasing("work", in: world) { try await clock.sleep(for: .seconds(10)) }
    let other = world.body("other", seconds: 20)
    world.queue.addOperations([work, other])
    world.queue.progress.totalUnitCount = 2
    world.simulation.run(until: .seconds(5))
    #expect(work.state == .executing && other.state == .executing)
    #expect(world.queue.operations == [work, other])
    #expect(world.queue.progress.completedUnitCount == 0)
    world.simulation.run()
    #expect(world.queue.progress.completedUnitCount == 2)
  }

  @Test(arguments: seeds)
  func `an async closure of the queue can release its slot`(seed: UInt64) {
    let world = World(seed: seed, limit: 1)
    let (queue, log) = (world.queue, Log<String>())
    let inner = world.body("inner", seconds: 2)
    queue.addOperation {
      await releasingSlot { try? await queue.run(inner) }
      log.add("continues, and inner is finished: \(inner.isFinished)")
    }
    queue.addOperation { log.add("another") }
    world.simulation.run()
    #expect(log.entries == ["another", "continues, and inner is finished: true"])
    #expect(queue.operationCount == 0)
  }

  // MARK: Several calls

  @Test(arguments: seeds)
  func `simultaneous calls release one slot until the last call ends`(seed: UInt64) {
    let world = World(seed: seed, limit: 1)
    let (clock, log) = (world.simulation.environment.clock, Log<String>())
    @Sendable func call(_ seconds: Int) async throws {
      try await releasingSlot { try await clock.sleep(for: .seconds(seconds)) }
      log.add("\(seconds) returns at \(clock.now.components.seconds)")
    }
    let work = ResultOperation(name: "work") {
      async let short: Void = call(2)
      async let long: Void = call(10)
      _ = try await (short, long)
    }
    world.run(work, world.body("other", seconds: 30))
    #expect(log.entries == ["2 returns at 2", "10 returns at 30"])
    #expect(work.kind == .succeeded)
  }

  @Test(arguments: seeds)
  func `a call that waits for the slot returns when another call begins`(seed: UInt64) {
    let world = World(seed: seed, limit: 1)
    let (clock, log) = (world.simulation.environment.clock, Log<String>())
    let work = ResultOperation(name: "work") {
      async let first: Void = {
        try await releasingSlot { try await clock.sleep(for: .seconds(2)) }
        log.add("first returns at \(clock.now.components.seconds)")
      }()
      async let second: Void = {
        try await clock.sleep(for: .seconds(5))
        try await releasingSlot { try await clock.sleep(for: .seconds(5)) }
        log.add("second returns at \(clock.now.components.seconds)")
      }()
      _ = try await (first, second)
    }
    world.run(work, world.body("other", seconds: 30))
    #expect(log.entries == ["first returns at 5", "second returns at 30"])
  }

  @Test(arguments: seeds)
  func `a call inside of another call does nothing`(seed: UInt64) {
    let world = World(seed: seed, limit: 1)
    let (clock, log) = (world.simulation.environment.clock, Log<String>())
    let work = releasing("work", in: world, log: log) {
      try await releasingSlot { try await clock.sleep(for: .seconds(1)) }
      log.add("inner call returns at \(clock.now.components.seconds)")
      try await clock.sleep(for: .seconds(1))
    }
    world.run(work, world.body("other", seconds: 30))
    #expect(
      log.entries
        == ["work releases at 0", "inner call returns at 1", "work continues at 30"]
    )
  }

  // MARK: The queue

  @Test(arguments: seeds)
  func `a body waits for its slot while the queue is suspended or has no slots`(seed: UInt64) {
    for closes in [true, false] {
      let world = World(seed: seed, limit: 1)
      let (clock, log) = (world.simulation.environment.clock, Log<String>())
      let work = releasing("work", in: world, log: log) { try await clock.sleep(for: .seconds(1)) }
      world.queue.addOperation(work)
      world.simulation.advance(by: .zero)
      world.queue.isSuspended = !closes
      if closes { world.queue.maxConcurrentOperationCount = 0 }
      world.simulation.run(until: .seconds(10))
      #expect(log.entries == ["work releases at 0"])
      world.queue.isSuspended = false
      if closes { world.queue.maxConcurrentOperationCount = 2 }
      world.simulation.run()
      #expect(log.entries.last == "work continues at 10")
      #expect(work.kind == .succeeded)
    }
  }

  @Test(arguments: seeds)
  func `a body waits until there are fewer holders than a lowered limit`(seed: UInt64) {
    let world = World(seed: seed, limit: 3)
    let (clock, log) = (world.simulation.environment.clock, Log<String>())
    let work = releasing("work", in: world, log: log) { try await clock.sleep(for: .seconds(1)) }
    let others = (1...3).map { world.body("other \($0)", seconds: $0 * 10) }
    world.queue.addOperations([work] + others)
    world.simulation.advance(by: .zero)
    world.queue.maxConcurrentOperationCount = 1
    world.simulation.run()
    #expect(log.entries.last == "work continues at 30")
  }

  @Test(arguments: seeds)
  func `a barrier waits until a body without its slot has finished`(seed: UInt64) {
    let world = World(seed: seed, limit: 1)
    let (clock, log) = (world.simulation.environment.clock, Log<String>())
    let work = releasing("work", in: world, after: 1, log: log) {
      try await clock.sleep(for: .seconds(1))
    }
    world.queue.addOperation(work)
    world.simulation.advance(by: .zero)
    world.queue.addBarrierBlock { log.add("barrier at \(clock.now.components.seconds)") }
    world.run(world.body("behind", seconds: 1))
    #expect(log.entries.suffix(2) == ["work continues at 1", "barrier at 2"])
  }

  @Test func `a queue with a released slot can be drained, within its time or not`() throws {
    for (limit, kind) in [(60, Kind.succeeded), (5, .cancelled)] {
      let world = World(limit: 1)
      let clock = world.simulation.environment.clock
      let work = releasing("work", in: world) { try await clock.sleep(for: .seconds(10)) }
      world.queue.addOperation(work)
      world.simulation.advance(by: .zero)
      let report = try world.simulation.run {
        await world.queue.drain(within: .seconds(limit))
      }
      #expect(work.kind == kind)
      #expect(report.cutShort.count == (kind == .cancelled ? 1 : 0))
      #expect(world.queue.operationCount == 0)
    }
  }

  @Test func `a prerequisite without a slot releases nothing`() {
    let world = World(limit: 1)
    let (clock, log) = (world.simulation.environment.clock, Log<String>())
    let signIn = releasing("sign-in", in: world, log: log) {
      try await clock.sleep(for: .seconds(1))
    }
    let work = world.body("work", seconds: 1)
    work.addCondition(Asked(prerequisite: { _ in signIn }))
    world.queue.addOperations([work, world.body("other", seconds: 10)])
    world.simulation.run()
    #expect(log.entries.last == "sign-in continues at 1")
    #expect(work.kind == .succeeded)
  }

  @Test func `the closure runs if the operation was started manually`() async throws {
    let work = ResultOperation { await releasingSlot { 1 } }
    work.start()
    #expect(try await work.value == 1)
  }

  // MARK: The end

  @Test(arguments: seeds)
  func `a cancelled body needs no slot to end`(seed: UInt64) {
    for time in [5, 15] {
      let world = World(seed: seed, limit: 1)
      let (clock, log) = (world.simulation.environment.clock, Log<String>())
      let work = ResultOperation(name: "work") {
        let value = await releasingSlot {
          try? await clock.sleep(for: .seconds(10))
          return 1
        }
        log.add("has \(value)")
        // Another call in the cancelled body.
        await releasingSlot { await Task.yield() }
        log.add("ends at \(clock.now.components.seconds)")
      }
      let other = world.body("other", seconds: 60)
      world.queue.addOperations([work, other])
      world.simulation.run(until: .seconds(time))
      work.cancel()
      world.simulation.advance(by: .zero)
      #expect(log.entries == ["has 1", "ends at \(time)"])
      #expect(work.kind == .cancelled)
      #expect(world.queue.operations == [other])
      let last = world.body("last", seconds: 1)
      world.run(last)
      #expect(other.kind == .succeeded && last.kind == .succeeded)
      #expect(world.queue.operationCount == 0)
    }
  }

  @Test(arguments: seeds)
  func `an operation may be finished from outside while it waits for its slot`(seed: UInt64) {
    for time in [5, 15] {
      let world = World(seed: seed, limit: 1)
      let (clock, log) = (world.simulation.environment.clock, Log<String>())
      let work = releasing("work", in: world, log: log) {
        try await clock.sleep(for: .seconds(10))
      }
      world.queue.addOperations([work, world.body("other", seconds: 60)])
      world.simulation.run(until: .seconds(time))
      work.finish()
      world.simulation.run(until: .seconds(20))
      #expect(work.isFinished)
      #expect(log.entries.last == "work continues at \(max(time, 10))")
      world.simulation.run()
      #expect(world.queue.operationCount == 0)
    }
  }

  @Test(arguments: seeds)
  func `a body waits for its slot in a task that is cancelled alone`(seed: UInt64) {
    let world = World(seed: seed, limit: 1)
    let (clock, log) = (world.simulation.environment.clock, Log<String>())
    let policy = RetryPolicy.immediate.attempts(2).attemptTimeout(.seconds(5))
    let work = ResultOperation(name: "work", retry: policy) {
      log.add("attempt at \(clock.now.components.seconds)")
      if AdvancedOperation.current?.attempt == 2 { return }
      defer { log.add("attempt ends at \(clock.now.components.seconds)") }
      try await releasingSlot { try await clock.sleep(for: .seconds(60)) }
    }
    world.run(work, world.body("other", seconds: 20))
    #expect(log.entries == ["attempt at 0", "attempt ends at 20", "attempt at 20"])
    #expect(work.kind == .succeeded)
  }

  @Test(arguments: seeds)
  func `a released slot works with a policy that releases the slot`(seed: UInt64) {
    let world = World(seed: seed, limit: 1)
    let (clock, log) = (world.simulation.environment.clock, Log<String>())
    let inside = Counter()
    let operations = (0..<3).map { number in
      ResultOperation(
        name: "\(number)",
        retry: .constant(.seconds(3)).attempts(3).releasingSlot()
      ) {
        try await releasingSlot { try await clock.sleep(for: .seconds(2)) }
        #expect(inside.add() == 1)
        try await clock.sleep(for: .seconds(1))
        inside.add(-1)
        log.add("\(number)")
        if AdvancedOperation.current?.attempt != 3 { throw Flaw(number) }
      }
    }
    for operation in operations { operation.addClaim(RateLimit("r", 100, per: .seconds(1))) }
    world.queue.addOperations(operations)
    world.simulation.run()
    #expect(operations.allSatisfy { $0.kind == .succeeded })
    #expect(log.entries.count == 9)
    #expect(world.queue.operationCount == 0)
  }

  @Test func `a body may end while one of its tasks is in a call`() async throws {
    let queue = AdvancedOperationQueue(maxConcurrentOperationCount: 1)
    let left = Locked<Task<Bool, Never>?>(nil)
    let (entered, gate) = (Latch(), Latch())
    let work = ResultOperation(name: "work") {
      let task = Task {
        await releasingSlot {
          entered.open()
          await gate.opened()
        }
        return true
      }
      left.withLock { $0 = task }
      await entered.opened()
    }
    try await queue.run(work)
    let next = ResultOperation { 1 }
    #expect(try await queue.run(next) == 1)
    gate.open()
    let task = try #require(left.withLock { $0 })
    #expect(await task.value)
    let last = ResultOperation { 2 }
    #expect(try await queue.run(last) == 2)
    #expect(queue.operationCount == 0)
  }

  // MARK: Cycles

  @Test(arguments: seeds)
  func `the error of an await that needs the slot names the body`(seed: UInt64) throws {
    let world = World(seed: seed, limit: 1)
    let queue = world.queue
    let outer = ResultOperation(name: "outer") {
      try await queue.run(ResultOperation(name: "inner") {})
    }
    world.run(outer)
    let cycle = try #require(outer.outcome?.failure?.first(OperationCycleError.self))
    #expect(cycle.path == ["outer", "inner", "outer"])
    #expect(cycle.slotHolder == "outer")
    #expect(
      "\(cycle)".hasSuffix(
        "Remove one of these waits, or await inside of releasingSlot { } in the body of outer."
      )
    )
  }

  @Test(arguments: seeds)
  func `the error of an inner await names the body`(seed: UInt64) throws {
    let world = World(seed: seed, limit: 1)
    let (queue, otherQueue) = (world.queue, world.makeQueue())
    let middle = ResultOperation(name: "middle") {
      try await queue.run(ResultOperation(name: "inner") {})
    }
    let outer = ResultOperation(name: "outer") { try? await otherQueue.run(middle) }
    world.run(outer)
    let cycle = try #require(middle.outcome?.failure?.first(OperationCycleError.self))
    #expect(cycle.slotHolder == "outer")
  }

  @Test(arguments: seeds)
  func `an error doesn't name a body that is needed for more than its slot`(seed: UInt64) throws {
    for usesClaim in [true, false] {
      let world = World(seed: seed, limit: 1)
      let queue = world.queue
      let inner = ResultOperation(name: "inner") {}
      let outer = ResultOperation(name: "outer") { try await queue.run(inner) }
      if usesClaim {
        for operation in [outer, inner] { operation.addClaim(MutuallyExclusive("x")) }
      } else {
        inner.addDependency(outer)
      }
      world.run(outer)
      let cycle = try #require(outer.outcome?.failure?.first(OperationCycleError.self))
      #expect(usesClaim || cycle.slotHolder == nil)
    }
  }

  @Test(arguments: seeds)
  func `a body without its slot may not await a waiter for its claim`(seed: UInt64) throws {
    let world = World(seed: seed, limit: 1)
    let queue = world.queue
    let inner = ResultOperation(name: "inner") {}
    let outer = releasing("outer", in: world) { try await queue.run(inner) }
    for operation in [outer, inner] { operation.addClaim(MutuallyExclusive("x")) }
    world.run(outer)
    #expect(outer.outcome?.failure?.first(OperationCycleError.self) != nil)
    #expect(queue.operationCount == 0)
  }

  @Test(arguments: seeds)
  func `the holder of a slot can't await its releaser unless it releases the slot`(
    seed: UInt64
  ) throws {
    for releases in [true, false] {
      let world = World(seed: seed, limit: 1)
      let clock = world.simulation.environment.clock
      let work = releasing("work", in: world) { try await clock.sleep(for: .seconds(10)) }
      let waiting = ResultOperation(name: "waiting") {
        if releases {
          try await releasingSlot { try await work.untilFinished() }
        } else {
          try await work.untilFinished()
        }
      }
      world.run(work, waiting)
      #expect(work.kind == .succeeded)
      let cycle = waiting.outcome?.failure?.first(OperationCycleError.self)
      #expect(cycle?.path == (releases ? nil : ["waiting", "work", "waiting"]))
      #expect(cycle?.slotHolder == (releases ? nil : "waiting"))
      #expect(world.queue.operationCount == 0)
    }
  }

  @Test(arguments: seeds)
  func `a body is cancelled if its wait for a slot completes a cycle`(seed: UInt64) throws {
    let world = World(seed: seed, limit: 2)
    let clock = world.simulation.environment.clock
    let work = releasing("work", in: world) { try await clock.sleep(for: .seconds(10)) }
    let waiting = ResultOperation(name: "waiting") { try await work.untilFinished() }
    world.queue.addOperations([work, waiting])
    world.simulation.run(until: .seconds(5))
    world.queue.maxConcurrentOperationCount = 1
    world.simulation.run()
    let cycle = try #require(work.outcome?.failure?.first(OperationCycleError.self))
    #expect(work.kind == .cancelled)
    #expect(cycle.slotHolder == "waiting")
    #expect(waiting.kind == .succeeded)
  }

  @Test(arguments: seeds)
  func `a body may not await an operation behind its waiting barrier`(seed: UInt64) throws {
    let world = World(seed: seed, limit: 1)
    let queue = world.queue
    let inner = ResultOperation(name: "inner") {}
    let outer = releasing("outer", in: world, before: 1) { try await queue.run(inner) }
    queue.addOperation(outer)
    world.simulation.advance(by: .zero)
    queue.addBarrierBlock {}
    world.simulation.run()
    #expect(outer.outcome?.failure?.first(OperationCycleError.self) != nil)
    #expect(queue.operationCount == 0)
  }

  @Test(arguments: seeds)
  func `a wait that another call covers becomes a cycle when that call takes the slot`(seed: UInt64)
  {
    let world = World(seed: seed, limit: 1)
    let (queue, clock) = (world.queue, world.simulation.environment.clock)
    let inner = Work("inner")
    let outer = ResultOperation(name: "outer") {
      async let upload: Void = releasingSlot { try await clock.sleep(for: .seconds(2)) }
      try await clock.sleep(for: .seconds(1))
      try await queue.run(inner)
      try await upload
    }
    let filler = world.body("filler", seconds: 4)
    world.run(outer, filler)
    let cycle = outer.outcome?.failure?.first(OperationCycleError.self)
    #expect(cycle?.path.map(\.name) == ["inner", "outer", "inner"])
    #expect(cycle?.slotHolder?.name == "outer")
    #expect(filler.kind == .succeeded)
    #expect(queue.operationCount == 0)
  }

  @Test(arguments: seeds)
  func `the next attempt has a slot even if a task of the attempt before has released it`(
    seed: UInt64
  ) {
    let world = World(seed: seed, limit: 1)
    let (clock, log) = (world.simulation.environment.clock, Log<String>())
    let executor = world.simulation.environment.executor as? any TaskExecutor
    @Sendable func note(_ event: String) { log.add("\(event) at \(clock.now.components.seconds)") }
    let work = ResultOperation(name: "work", retry: .constant(.seconds(1)).attempts(2)) {
      if AdvancedOperation.current?.attempt == 1 {
        Task(executorPreference: executor) {
          try? await releasingSlot { try await clock.sleep(for: .seconds(20)) }
        }
        try await clock.sleep(for: .seconds(1))
        throw Flaw(1)
      }
      note("attempt 2")
      try await clock.sleep(for: .seconds(3))
      note("end")
    }
    let other = ResultOperation(name: "other") {
      note("other")
      try await clock.sleep(for: .seconds(5))
    }
    world.run(work, other)
    #expect(log.entries == ["other at 0", "attempt 2 at 5", "end at 8"])
    #expect(work.kind == .succeeded)
    #expect(world.queue.operationCount == 0)
  }

  @Test func `a cancel ends the wait of the next attempt for a slot`() {
    let world = World(limit: 1)
    let (clock, attempts) = (world.simulation.environment.clock, Counter())
    let executor = world.simulation.environment.executor as? any TaskExecutor
    let work = ResultOperation(name: "work", retry: .constant(.seconds(1)).attempts(2)) {
      attempts.add()
      Task(executorPreference: executor) {
        try? await releasingSlot { try await clock.sleep(for: .seconds(20)) }
      }
      try await clock.sleep(for: .seconds(1))
      throw Flaw(1)
    }
    world.queue.addOperations([work, world.body("other", seconds: 50)])
    world.simulation.run(until: .seconds(10))
    work.cancel()
    world.simulation.run(until: .seconds(11))
    #expect(work.kind == .cancelled)
    #expect(attempts.count == 1)
    world.simulation.run()
    #expect(world.queue.operationCount == 0)
  }

  // MARK: Explanations

  @Test func `the explanation says that a body executes or awaits without its slot`() {
    let world = World(limit: 1)
    let (queue, clock) = (world.queue, world.simulation.environment.clock)
    let sleeping = releasing("sleeping", in: world) { try await clock.sleep(for: .seconds(10)) }
    let inner = world.body("inner", seconds: 10)
    let awaiting = releasing("awaiting", in: world) { try await queue.run(inner) }
    queue.addOperations([sleeping, awaiting])
    world.simulation.run(until: .seconds(5))
    #expect(text(sleeping).hasPrefix("sleeping has been executing for 5 s, with its slot released"))
    #expect(
      text(awaiting).hasPrefix("awaiting has released its slot, and has code that waits for inner")
    )
    world.simulation.run()
  }

  @Test func `the explanation of a wait for the slot names its holder`() {
    let world = World(limit: 1)
    world.queue.name = "narrow"
    let clock = world.simulation.environment.clock
    let work = releasing("work", in: world) { try await clock.sleep(for: .seconds(10)) }
    let other = world.body("other", seconds: 60)
    world.queue.addOperations([work, other])
    world.simulation.run(until: .seconds(5))
    #expect(kinds(work) == [.executing])
    world.simulation.run(until: .seconds(20))
    #expect(
      text(work).split(separator: "\n").first
        == "work waits to take its slot of queue “narrow” again, whose limit of 1 is used up by other"
    )
    #expect(kinds(work) == [.limit])
    #expect(work.waitCauses.count == 1)
    world.queue.maxConcurrentOperationCount = 0
    let beginning = "work waits to take its slot of queue “narrow” again, whose limit is 0"
    #expect(text(work).hasPrefix(beginning))
  }

  // MARK: Misuse

  @Test func `releasing a slot outside of an operation traps`() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      await releasingSlot {}
    }
    try expectMessage("releasingSlot { } was called outside of the async body", in: result)
    let text = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
    #expect(text.contains("SlotReleasedInBodyTests.swift:"), "\(text)")
  }

  @Test func `releasing a slot in a condition traps`() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let work = ResultOperation {}
      work.addCondition(
        BlockCondition("asks") {
          await releasingSlot {}
          return true
        }
      )
      try await AdvancedOperationQueue().run(work)
    }
    try expectMessage("releasingSlot { } was called outside of the async body", in: result)
  }
}
