import AdvancedOperationsTesting
import CoreOperations
import TestSupport
import Testing

/// Ends are awaited as `deinit` happens; where one never came, the watchdog names the test.
@Suite(.watched) struct `Memory` {
  @Test func `operations are released when they have run`() async throws {
    let live = LiveCount()
    let queue = OperationQueue()
    do {
      let operations = (0..<1_000).map { _ in Counted(live) }
      for (index, operation) in operations.enumerated() where index >= 10 {
        for step in [1, 3, 10] { operation.addDependency(operations[index - step]) }
      }
      queue.addOperations(operations)
    }
    await live.none()
    #expect(live.made == 1_000)
  }

  @Test func `a finished operation has released its blocks`() async throws {
    let live = LiveCount()
    let operation = BlockOperation()
    do {
      for _ in 0..<3 {
        let token = Token(live)
        operation.addExecutionBlock { token.touch() }
      }
    }
    OperationQueue().addOperation(operation)
    try await operation.untilFinished()
    await live.none()
    #expect(operation.isFinished)
  }

  @Test(arguments: [false, true])
  func `an operation that left without running has released its blocks`(isQueued: Bool) {
    let live = LiveCount()
    let executor = ManualExecutor()
    let operation = BlockOperation()
    do {
      for _ in 0..<3 {
        let token = Token(live)
        operation.addExecutionBlock { token.touch() }
      }
    }
    operation.cancel()
    #expect(live.alive == 3)
    if isQueued {
      OperationQueue(executor: executor).addOperation(operation)
      executor.runAll()
    } else {
      operation.start()
    }
    #expect(operation.isFinished)
    #expect(live.alive == 0)
  }

  @Test func `an operation that its completion block captured is released`() async {
    let live = LiveCount()
    let queue = OperationQueue()
    do {
      for _ in 0..<100 {
        let operation = Counted(live)
        operation.completionBlock = { _ = operation.isFinished }
        queue.addOperation(operation)
      }
      let byHand = Counted(live)
      byHand.completionBlock = { _ = byHand.isFinished }
      byHand.start()
    }
    await live.none()
    #expect(live.made == 101)
  }

  @Test func `a finished operation has released its dependents and queue`() {
    let live = LiveCount()
    let queues = LiveCount()
    let executor = ManualExecutor()
    let first = Operation()
    do {
      let queue = CountedQueue(queues, executor)
      queue.addOperation(first)
      for _ in 0..<10 {
        let dependent = Counted(live)
        dependent.addDependency(first)
        queue.addOperation(dependent)
      }
    }
    #expect(live.alive == 10)
    #expect(queues.alive == 1)
    executor.runAll()
    #expect(first.isFinished)
    #expect(live.alive == 0)
    #expect(queues.alive == 0)
  }

  @Test func `a finished operation keeps its dependencies, as documented`() {
    let live = LiveCount()
    let last = Operation()
    do {
      let first = Counted(live)
      last.addDependency(first)
      first.start()
    }
    last.start()
    #expect(last.dependencies.count == 1)
    #expect(live.alive == 1)
    last.removeDependency(last.dependencies[0])
    #expect(live.alive == 0)
  }

  @Test func `a dependent may be released before its dependency finishes`() async throws {
    let live = LiveCount()
    let queue = OperationQueue()
    let gate = Latch()
    let dependency = BlockOperation { gate.pass() }
    let kept = Counted(live)
    do {
      for index in 0..<100 {
        if index == 50 { kept.addDependency(dependency) }
        Counted(live).addDependency(dependency)
      }
    }
    #expect(live.alive == 1)
    queue.addOperations([dependency, kept])
    gate.open()
    try await kept.untilFinished()
  }

  @Test func `unqueued dependents may be released while their dependency finishes`()
    async throws
  {
    for _ in 0..<500 {
      let live = LiveCount()
      let dependency = Operation()
      let children = Locked((0..<20).map { _ in Counted(live) })
      for child in children.withLock({ $0 }) { child.addDependency(dependency) }
      let done = Countdown(2)
      launchThreadFromPool {
        dependency.start()
        done.count()
      }
      launchThreadFromPool {
        let last = children.withLock { children in
          defer { children = [] }
          return children
        }
        withExtendedLifetime(last) {}
        done.count()
      }
      await done.done.opened()
      await live.none()
      #expect(dependency.isFinished)
    }
  }

  @Test func `an operation may be released while its dependency finishes`()
    async throws
  {
    for _ in 0..<Effort.rounds(500) {
      let executor = ManualExecutor()
      let queue = OperationQueue(executor: executor)
      let dependency = Operation()
      let children = Locked((0..<20).map { _ in SelfKept() })
      for child in children.withLock({ $0 }) {
        child.addDependency(dependency)
        queue.addOperation(child)
        child.end()
      }
      #expect(queue.operationCount == 0)
      let done = Countdown(2)
      launchThreadFromPool {
        dependency.start()
        done.count()
      }
      launchThreadFromPool {
        let last = children.withLock { children in
          defer { children = [] }
          return children
        }
        withExtendedLifetime(last) {}
        done.count()
      }
      await done.done.opened()
      executor.runAll()
      #expect(dependency.isFinished)
    }
  }

  @Test func `a graph that is built and dropped without running is released`() {
    let live = LiveCount()
    do {
      let operations = (0..<2_000).map { _ in Counted(live) }
      for index in 1..<2_000 {
        operations[index].addDependency(operations[index - 1])
        operations[index].addDependency(operations[index / 2])
        operations[index].addDependency(operations[index / 3])
      }
      #expect(live.alive == 2_000)
    }
    #expect(live.alive == 0)
  }

  @Test(arguments: [2, 3, 100, 10_000])
  func `a cycle that was cancelled is released when it has left`(size: Int) async throws {
    let live = LiveCount()
    let queue = OperationQueue()
    do {
      let cycle = (0..<size).map { _ in Counted(live) }
      for index in cycle.indices { cycle[index].addDependency(cycle[(index + 1) % size]) }
      queue.addOperations(cycle)
    }
    await live.none()
    #expect(live.made == size)
  }

  @Test func `a cycle with one queued operation is released with the others`()
    async throws
  {
    let live = LiveCount()
    let queue = OperationQueue()
    do {
      let cycle = (0..<10).map { _ in Counted(live) }
      for index in cycle.indices { cycle[index].addDependency(cycle[(index + 1) % 10]) }
      queue.addOperation(cycle[3])
      try await cycle[3].untilFinished()
      #expect(cycle.allSatisfy { $0.isCancelled })
    }
    await live.none()
  }

  @Test
  func `cycles that share operations are released with everything tied to them`() async throws {
    for seed in Effort.seeds(50) {
      var random = SplitMix64(seed: seed)
      let live = LiveCount()
      let queue = OperationQueue()
      do {
        let operations = (0..<30).map { _ in Counted(live) }
        for _ in 0..<60 {
          let (one, other) = (
            Int.random(in: 0..<30, using: &random), Int.random(in: 0..<30, using: &random)
          )
          if one != other { operations[one].addDependency(operations[other]) }
        }
        queue.addOperations(operations)
      }
      await live.none()
    }
  }

  @Test func `replaced closures and finished waits leave nothing behind`() async {
    let live = LiveCount()
    do {
      let operation = Counted(live)
      operation.completionBlock = { [unowned operation] in _ = operation.isFinished }
      let wait = Task { try await operation.untilFinished() }
      wait.cancel()
      _ = await wait.result
    }
    await live.none()
  }

  @Test func `a deinit may use queues and operations`() async {
    let queue = OperationQueue()
    let ended = Countdown(200)
    for _ in 0..<100 {
      let token = Token {
        queue.addOperation(BlockOperation { ended.count() })
        _ = queue.operations
        _ = queue.operationCount
        ended.count()
      }
      let first = BlockOperation { token.touch() }
      let second = Operation()
      second.addDependency(first)
      queue.addOperations([second, first])
      if queue.operationCount.isMultiple(of: 3) { first.cancel() }
    }
    await ended.done.opened()
  }

  @Test func `a queue with unfinished operations lives until they have finished`() async {
    let live = LiveCount()
    let mayEnd = Latch()
    let first = BlockOperation { mayEnd.pass() }
    do {
      let queue = CountedQueue(live)
      let second = Operation()
      second.addDependency(first)
      queue.addOperations([second, first])
    }
    #expect(live.alive == 1)
    mayEnd.open()
    await live.none()
    #expect(first.isFinished)
  }
}
