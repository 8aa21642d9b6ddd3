import CoreOperations
import TestSupport
import Testing

@Suite(.watched) struct `Cycles of dependencies` {
  private func operations(_ names: String...) -> [Operation] {
    names.map { name in
      let operation = Operation()
      operation.name = name
      return operation
    }
  }

  private func path(of operation: Operation) -> [String]? {
    (operation.cancellationReason as? OperationCycleError)?.path.map(\.name)
  }

  @Test func `an operation that depends on itself is cancelled immediately`() async throws {
    let operation = operations("a")[0]
    operation.addDependency(operation)
    #expect(operation.isCancelled)
    #expect(path(of: operation) == ["a", "a"])
    let queue = OperationQueue()
    queue.addOperation(operation)
    try await operation.untilFinished()
  }

  @Test func `a cycle within a batch is cancelled with its path as the reason`() async throws {
    let cycle = operations("a", "b", "c")
    for (index, operation) in cycle.enumerated() {
      operation.addDependency(cycle[(index + 1) % 3])
    }
    let behind = operations("behind")[0]
    behind.addDependency(cycle[0])
    let before = operations("before")[0]
    cycle[1].addDependency(before)
    let queue = OperationQueue()
    queue.addOperations([behind] + cycle + [before])
    try await queue.untilAllOperationsAreFinished()
    for operation in cycle {
      #expect(operation.isCancelled)
      let path = try #require(self.path(of: operation))
      #expect(path.count == 4)
      #expect(path.first == path.last)
      #expect(Set(path) == ["a", "b", "c"])
      // Each waits for the next; the last one did, before the cycle was opened.
      for (name, next) in zip(path, path.dropFirst()).dropLast() {
        let waiting = try #require(cycle.first { $0.name == name })
        #expect(waiting.dependencies.contains { $0.name == next })
      }
    }
    #expect(!behind.isCancelled && behind.isFinished)
    #expect(!before.isCancelled && before.isFinished)
  }

  @Test func `a cycle across batches and queues ends with the operation that completes it`()
    async throws
  {
    for closing in 0..<3 {
      let cycle = operations("a", "b", "c")
      for (index, operation) in cycle.enumerated() {
        operation.addDependency(cycle[(index + 1) % 3])
      }
      let queues = [OperationQueue(), OperationQueue(), OperationQueue()]
      for index in 0..<3 where index != closing { queues[index].addOperation(cycle[index]) }
      queues[closing].addOperation(cycle[closing])
      for queue in queues { try await queue.untilAllOperationsAreFinished() }
      #expect(cycle.allSatisfy { path(of: $0) != nil })
    }
  }

  @Test func `an edge that completes a cycle among queued operations is found immediately`()
    async throws
  {
    let cycle = operations("a", "b", "c")
    cycle[0].addDependency(cycle[1])
    cycle[1].addDependency(cycle[2])
    let start = operations("start")[0]
    cycle[2].addDependency(start)
    let queue = OperationQueue()
    queue.addOperations(cycle)
    #expect(cycle.allSatisfy { !$0.isCancelled })
    cycle[2].addDependency(cycle[0])
    try await queue.untilAllOperationsAreFinished()
    #expect(cycle.allSatisfy { path(of: $0) != nil })
    #expect(!start.isCancelled)
  }

  @Test func `a cycle through an unqueued operation ends with that operation cancelled`()
    async throws
  {
    let cycle = operations("queued", "not queued")
    cycle[0].addDependency(cycle[1])
    cycle[1].addDependency(cycle[0])
    let queue = OperationQueue()
    queue.addOperation(cycle[0])
    try await queue.untilAllOperationsAreFinished()
    #expect(cycle.allSatisfy { path(of: $0) != nil })
    #expect(!cycle[1].isFinished)
    cycle[1].start()
    #expect(cycle[1].isFinished)
  }

  @Test(arguments: [3, 4, 10, 60], [0, 1, 2])
  func `a cycle of which any one operation is enqueued is cancelled`(
    size: Int,
    place: Int
  ) async throws {
    let cycle = (0..<size).map { _ in Operation() }
    for index in cycle.indices { cycle[index].addDependency(cycle[(index + 1) % size]) }
    // Somewhere else each time, seen from the edge that completed the cycle.
    let enqueued = cycle[(place * size / 3 + 1) % size]
    let queue = OperationQueue()
    queue.addOperation(enqueued)
    try await queue.untilAllOperationsAreFinished()
    #expect(cycle.allSatisfy { path(of: $0)?.count == size + 1 })
    #expect(cycle.filter(\.isFinished) == [enqueued])
  }

  @Test func `waiting for an unqueued operation isn't a cycle`() async throws {
    let (waiting, missing) = (Operation(), Operation())
    waiting.addDependency(missing)
    let queue = OperationQueue()
    queue.addOperation(waiting)
    let probe = Operation()
    queue.addOperation(probe)
    try await probe.untilFinished()
    #expect(!waiting.isCancelled && !missing.isCancelled)
    missing.start()
    try await waiting.untilFinished()
    #expect(!waiting.isCancelled)
  }

  @Test func `a cycle that is broken before it is queued runs`() async throws {
    let cycle = operations("a", "b")
    cycle[0].addDependency(cycle[1])
    cycle[1].addDependency(cycle[0])
    cycle[1].removeDependency(cycle[0])
    let queue = OperationQueue()
    queue.addOperations(cycle)
    try await queue.untilAllOperationsAreFinished()
    #expect(cycle.allSatisfy { !$0.isCancelled })
  }

  @Test func `an edge that is only recorded isn't a wait`() async throws {
    let gate = Latch()
    let running = Latch()
    let first = BlockOperation {
      running.open()
      gate.pass()
    }
    let second = Operation()
    second.addDependency(first)
    let queue = OperationQueue()
    queue.addOperations([first, second])
    running.pass()
    first.addDependency(second)
    gate.open()
    try await queue.untilAllOperationsAreFinished()
    #expect(!first.isCancelled && !second.isCancelled)
  }

  @Test func `an edge that is only recorded isn't a wait for later searches`() {
    let executor = ManualExecutor()
    let queue = OperationQueue(executor: executor)
    let others = operations("waits", "behind", "before", "first")
    let executing = BlockOperation { [others] in
      queue.operations[0].addDependency(others[0])
      // Both ends have others before and behind them, so that a cycle is looked for.
      others[0].addDependency(others[2])
    }
    others[0].addDependency(executing)
    others[1].addDependency(others[0])
    others[2].addDependency(others[3])
    queue.addOperations([executing] + others)
    executor.runAll()
    #expect(executing.dependencies == [others[0]])
    #expect(others.allSatisfy { $0.isFinished && !$0.isCancelled })
  }

  @Test func `a cycle that is completed outside of a queue cancels its queued operation`() {
    let cycle = operations("a", "b", "c")
    let queue = OperationQueue(executor: ManualExecutor())
    cycle[2].addDependency(cycle[0])
    queue.addOperation(cycle[2])
    cycle[1].addDependency(cycle[2])
    #expect(!cycle[2].isCancelled)
    cycle[0].addDependency(cycle[1])
    for operation in cycle { #expect(path(of: operation)?.count == 4) }
  }

  @Test func `two threads that complete a cycle from both ends always find it`() async throws {
    for _ in 0..<Effort.rounds(500) {
      let (a, b) = (Operation(), Operation())
      let queue = OperationQueue()
      await withTaskGroup { group in
        group.addTask { a.addDependency(b) }
        group.addTask { b.addDependency(a) }
      }
      queue.addOperations([a, b])
      try await queue.untilAllOperationsAreFinished()
      #expect(a.isCancelled && b.isCancelled)
    }
  }

  @Test func `a cancelled cycle drops the dependency that completes its path`()
    async throws
  {
    let cycle = operations("a", "b", "c", "d")
    let (outside, behind) = (Operation(), Operation())
    // Two cycles in one: a → b → c → a and a → b → d → a.
    for (from, to) in [(0, 1), (1, 2), (1, 3), (2, 0), (3, 0)] {
      cycle[from].addDependency(cycle[to])
      cycle[from].addDependency(outside)
    }
    behind.addDependency(cycle[0])
    let queue = OperationQueue()
    queue.addOperations(cycle + [behind, outside])
    try await queue.untilAllOperationsAreFinished()
    let path = try #require(self.path(of: cycle[0]))
    let last = try #require(cycle.first { $0.name == path[path.count - 2] })
    #expect(!last.dependencies.contains { $0.name == path[0] })
    #expect(cycle.allSatisfy { $0.dependencies.contains(outside) })
    #expect(behind.dependencies == [cycle[0]])
    // No more than what it takes: each way around is open, all else is there.
    let left = cycle.flatMap { $0.dependencies }.count { cycle.contains($0) }
    #expect(path[0] == "b" ? left == 4 : left == 3)
  }

  @Test func `the description of a cycle error says what to do`() {
    let error = OperationCycleError(path: ["a", "b", "a"])
    #expect("\(error)".contains("a → b → a"))
    #expect("\(error)".contains("Remove one of these waits"))
  }
}
