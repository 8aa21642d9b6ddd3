import AdvancedTestSupport
import CoreOperations
import TestSupport
import Testing

/// Closures that threads add, look at and cancel at the same time.
@Suite(.heavy, .serialized) struct `CoreStress: closures` {
  /// Something for a closure to capture: each is used at most once, and let go.
  private final class Ticket: Sendable {
    private let live: CoreStress.Live
    private let ran = CoreStress.Tally()
    private let twice: CoreStress.Tally

    init(_ live: CoreStress.Live, twice: CoreStress.Tally) {
      self.live = live
      self.twice = twice
      live.born()
    }

    deinit { live.died() }

    func use() {
      ran.add()
      if ran.now > 1 { twice.add() }
    }
  }

  /// What threads share; a queue whose limit is known at any time to be at most this one.
  private final class Run: Sendable {
    let queue = OperationQueue()
    let limit: Int
    let (ran, running, added) = (CoreStress.Tally(), CoreStress.Tally(), CoreStress.Tally())
    let (twice, wrong) = (CoreStress.Tally(), CoreStress.Tally())
    let live = CoreStress.Live()

    init(limit: Int) {
      self.limit = limit
      queue.maxConcurrentOperationCount = limit
    }

    func add(_ rest: @escaping @Sendable () -> Void = {}) {
      added.add()
      queue.addOperation(counted(rest))
    }

    func counted(_ rest: @escaping @Sendable () -> Void = {}) -> @Sendable () -> Void {
      let ticket = Ticket(live, twice: twice)
      return { [running, ran] in
        running.add()
        ticket.use()
        rest()
        ran.add()
        running.add(-1)
      }
    }

    /// Runs bodies on a thread each, and returns when they have returned and the queue is empty.
    func together(_ bodies: (@Sendable () -> Void)...) async throws {
      let done = Countdown(bodies.count)
      for body in bodies {
        CoreStress.launch {
          body()
          done.count()
        }
      }
      await done.done.opened()
      try await queue.untilAllOperationsAreFinished()
      await live.ended()
    }

    var state: String {
      "\(ran.now) of \(added.now) ran, \(running.now) run, \(live.now) alive, \(queue)"
    }

    func expectAllIsOver(sourceLocation: SourceLocation = #_sourceLocation) {
      #expect(running.now == 0, sourceLocation: sourceLocation)
      #expect(running.peak <= limit, sourceLocation: sourceLocation)
      #expect(twice.now == 0, sourceLocation: sourceLocation)
      #expect(wrong.now == 0, sourceLocation: sourceLocation)
      #expect(queue.operationCount == 0, sourceLocation: sourceLocation)
      #expect(queue.operations.isEmpty, sourceLocation: sourceLocation)
    }
  }

  @Test(arguments: [1, 2, 5])
  func `closures that threads and closures add run once each`(limit: Int) async throws {
    let run = Run(limit: limit)
    let watchdog = CoreStress.Watchdog { run.state }
    let count = CoreStress.scaled(4_000)
    let add: @Sendable () -> Void = {
      for number in 0..<count { run.add { if number.isMultiple(of: 4) { run.add() } } }
    }
    try await run.together(add, add, add)
    #expect(run.ran.now == run.added.now)
    #expect(run.added.now >= 3 * count)
    run.expectAllIsOver()
    watchdog.end()
  }

  @Test(arguments: [1, 3])
  func `closures that are constantly listed run once each`(limit: Int) async throws {
    let run = Run(limit: limit)
    let watchdog = CoreStress.Watchdog { run.state }
    let count = CoreStress.scaled(10_000)
    let add: @Sendable () -> Void = {
      for number in 0..<count {
        run.add {
          guard number.isMultiple(of: 16) else { return }
          let own = CurrentCode.callers.first
          if own?.isExecuting != true || own?.isFinished != false { run.wrong.add() }
          if CurrentCode.callers.first !== own { run.wrong.add() }
        }
        // The queue is empty now and then, and begins anew with closures.
        if number.isMultiple(of: 64) { run.queue.waitUntilAllOperationsAreFinished() }
      }
    }
    let look: @Sendable () -> Void = {
      for _ in 0..<count / 4 {
        let operations = run.queue.operations
        if Set(operations.map { ObjectIdentifier($0) }).count != operations.count {
          run.wrong.add()
        }
        operations.last?.waitUntilFinished()
        if operations.last?.isFinished == false { run.wrong.add() }
      }
    }
    try await run.together(add, add, look)
    #expect(run.ran.now == run.added.now)
    run.expectAllIsOver()
    watchdog.end()
  }

  @Test func `closures that are constantly cancelled run once or are released`() async throws {
    let run = Run(limit: 3)
    let watchdog = CoreStress.Watchdog { run.state }
    let count = CoreStress.scaled(20_000)
    let add: @Sendable () -> Void = { for _ in 0..<count { run.add() } }
    let cancel: @Sendable () -> Void = {
      for _ in 0..<count / 20 { run.queue.cancelAllOperations() }
    }
    try await run.together(add, add, cancel)
    #expect(run.ran.now <= run.added.now)
    run.expectAllIsOver()
    // None that was added before has begun after it.
    for _ in 0..<CoreStress.scaled(200) {
      run.queue.isSuspended = true
      let before = run.ran.now
      for _ in 0..<20 { run.add() }
      run.queue.cancelAllOperations()
      run.queue.isSuspended = false
      try await run.queue.untilAllOperationsAreFinished()
      #expect(run.ran.now == before)
    }
    watchdog.end()
  }

  @Test func `closures run once each while suspension and limit constantly change`() async throws {
    let run = Run(limit: 4)
    let watchdog = CoreStress.Watchdog { run.state }
    let count = CoreStress.scaled(20_000)
    let add: @Sendable () -> Void = { for _ in 0..<count { run.add() } }
    let change: @Sendable () -> Void = {
      for round in 0..<count / 10 {
        run.queue.isSuspended = round.isMultiple(of: 3)
        run.queue.maxConcurrentOperationCount = round % 5
      }
      run.queue.isSuspended = false
      run.queue.maxConcurrentOperationCount = 4
    }
    try await run.together(add, add, change)
    #expect(run.ran.now == run.added.now)
    run.expectAllIsOver()
    watchdog.end()
  }

  @Test(arguments: [1, 3])
  func `closures run once each among operations, dependencies and barriers`(limit: Int) async throws
  {
    let run = Run(limit: limit)
    let watchdog = CoreStress.Watchdog { run.state }
    let count = CoreStress.scaled(5_000)
    let add: @Sendable () -> Void = { for _ in 0..<2 * count { run.add() } }
    let addOperations: @Sendable () -> Void = {
      for _ in 0..<count {
        let closureBefore = run.queue.operations.first
        run.added.add()
        let operation = BlockOperation(
          block: run.counted { if closureBefore?.isFinished == false { run.wrong.add() } }
        )
        if let closureBefore { operation.addDependency(closureBefore) }
        run.queue.addOperation(operation)
      }
    }
    let addBarriers: @Sendable () -> Void = {
      for _ in 0..<count / 4 {
        run.queue.addBarrierBlock { if run.running.now != 0 { run.wrong.add() } }
      }
    }
    try await run.together(add, addOperations, addBarriers)
    #expect(run.ran.now == run.added.now)
    run.expectAllIsOver()
    watchdog.end()
  }

  @Test func `threads and other queues' closures can wait for closures`() async throws {
    let (run, other) = (Run(limit: 2), OperationQueue())
    let watchdog = CoreStress.Watchdog { "\(run.state), \(other)" }
    let count = CoreStress.scaled(1_000)
    let work: @Sendable () -> Void = {
      for _ in 0..<count {
        let before = run.ran.now
        for _ in 0..<5 { run.add() }
        run.queue.waitUntilAllOperationsAreFinished()
        if run.ran.now < before + 5 { run.wrong.add() }
      }
    }
    let wait: @Sendable () -> Void = {
      for _ in 0..<count / 4 {
        other.addOperation {
          run.add()
          run.queue.waitUntilAllOperationsAreFinished()
        }
      }
      other.waitUntilAllOperationsAreFinished()
    }
    try await run.together(work, wait)
    #expect(run.ran.now == run.added.now)
    run.expectAllIsOver()
    watchdog.end()
  }

  @Test func `closures keep their queue alive until the last has run`() async {
    final class Counted: OperationQueue, @unchecked Sendable {
      let live: CoreStress.Live
      init(_ live: CoreStress.Live) {
        self.live = live
        super.init()
        live.born()
      }
      deinit { live.died() }
    }
    let (live, ran) = (CoreStress.Live(), CoreStress.Tally())
    let watchdog = CoreStress.Watchdog { "\(live.now) alive, \(ran.now) ran" }
    let count = CoreStress.scaled(5_000)
    for _ in 0..<count {
      let queue = Counted(live)
      for _ in 0..<3 { queue.addOperation { ran.add() } }
    }
    await live.ended()
    #expect(ran.now == 3 * count)
    watchdog.end()
  }
}
