import CoreOperations
import Testing

@Suite(.watched) struct `Rings of dependencies` {
  private func operations(_ names: String...) -> [Operation] {
    names.map { name in
      let operation = Operation()
      operation.name = name
      return operation
    }
  }

  private func path(of operation: Operation) -> [String]? {
    (operation.cancellationReason as? OperationCycleError)?.path
  }

  @Test func `an operation that depends on itself is cancelled at once`() async throws {
    let operation = operations("a")[0]
    operation.addDependency(operation)
    #expect(operation.isCancelled)
    #expect(path(of: operation) == ["a", "a"])
    let queue = OperationQueue()
    queue.addOperation(operation)
    try await operation.untilFinished()
  }

  @Test func `a ring within a batch ends cancelled, with its path as the reason`() async throws {
    let ring = operations("a", "b", "c")
    for (index, operation) in ring.enumerated() {
      operation.addDependency(ring[(index + 1) % 3])
    }
    let behind = operations("behind")[0]
    behind.addDependency(ring[0])
    let before = operations("before")[0]
    ring[1].addDependency(before)
    let queue = OperationQueue()
    queue.addOperations([behind] + ring + [before])
    try await queue.untilAllOperationsAreFinished()
    for operation in ring {
      #expect(operation.isCancelled)
      let path = try #require(self.path(of: operation))
      #expect(path.count == 4)
      #expect(path.first == path.last)
      #expect(Set(path) == ["a", "b", "c"])
      // Each waits for the next; the last one did, before the ring was opened.
      for (name, next) in zip(path, path.dropFirst()).dropLast() {
        let waiting = try #require(ring.first { $0.name == name })
        #expect(waiting.dependencies.contains { $0.name == next })
      }
    }
    #expect(!behind.isCancelled && behind.isFinished)
    #expect(!before.isCancelled && before.isFinished)
  }

  @Test func `a ring across batches and queues ends with the operation that closes it`()
    async throws
  {
    for closing in 0..<3 {
      let ring = operations("a", "b", "c")
      for (index, operation) in ring.enumerated() {
        operation.addDependency(ring[(index + 1) % 3])
      }
      let queues = [OperationQueue(), OperationQueue(), OperationQueue()]
      for index in 0..<3 where index != closing { queues[index].addOperation(ring[index]) }
      queues[closing].addOperation(ring[closing])
      for queue in queues { try await queue.untilAllOperationsAreFinished() }
      #expect(ring.allSatisfy { path(of: $0) != nil })
    }
  }

  @Test func `an edge that closes a ring among queued operations is seen when it is added`()
    async throws
  {
    let ring = operations("a", "b", "c")
    ring[0].addDependency(ring[1])
    ring[1].addDependency(ring[2])
    let start = operations("start")[0]
    ring[2].addDependency(start)
    let queue = OperationQueue()
    queue.addOperations(ring)
    #expect(ring.allSatisfy { !$0.isCancelled })
    ring[2].addDependency(ring[0])
    try await queue.untilAllOperationsAreFinished()
    #expect(ring.allSatisfy { path(of: $0) != nil })
    #expect(!start.isCancelled)
  }

  @Test func `a ring through an operation in no queue ends cancelled, and so does that one`()
    async throws
  {
    let ring = operations("queued", "not queued")
    ring[0].addDependency(ring[1])
    ring[1].addDependency(ring[0])
    let queue = OperationQueue()
    queue.addOperation(ring[0])
    try await queue.untilAllOperationsAreFinished()
    #expect(ring.allSatisfy { path(of: $0) != nil })
    #expect(!ring[1].isFinished)
    ring[1].start()
    #expect(ring[1].isFinished)
  }

  @Test(arguments: [3, 4, 10, 60], [0, 1, 2])
  func `a ring of which only one is enqueued ends cancelled, whichever that is`(
    size: Int,
    place: Int
  ) async throws {
    let ring = (0..<size).map { _ in Operation() }
    for index in ring.indices { ring[index].addDependency(ring[(index + 1) % size]) }
    // Somewhere else each time, seen from the edge that closed the ring.
    let enqueued = ring[(place * size / 3 + 1) % size]
    let queue = OperationQueue()
    queue.addOperation(enqueued)
    try await queue.untilAllOperationsAreFinished()
    #expect(ring.allSatisfy { path(of: $0)?.count == size + 1 })
    #expect(ring.filter(\.isFinished) == [enqueued])
  }

  @Test func `a wait for an operation in no queue is no ring`() async throws {
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

  @Test func `a ring that is opened again before it is queued runs`() async throws {
    let ring = operations("a", "b")
    ring[0].addDependency(ring[1])
    ring[1].addDependency(ring[0])
    ring[1].removeDependency(ring[0])
    let queue = OperationQueue()
    queue.addOperations(ring)
    try await queue.untilAllOperationsAreFinished()
    #expect(ring.allSatisfy { !$0.isCancelled })
  }

  @Test func `an edge that is only recorded is no wait`() async throws {
    let gate = Gate()
    let running = Gate()
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

  @Test func `an edge that is only recorded is no wait for a later search either`() {
    let executor = ManualExecutor()
    let queue = OperationQueue(executor: executor)
    let others = operations("waits", "behind", "before", "first")
    let executing = BlockOperation { [others] in
      queue.operations[0].addDependency(others[0])
      // Both ends have others before and behind them, so that a ring is looked for.
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

  @Test func `a ring that is closed outside of its queue is seen by the one that is in there`() {
    let ring = operations("a", "b", "c")
    let queue = OperationQueue(executor: ManualExecutor())
    ring[2].addDependency(ring[0])
    queue.addOperation(ring[2])
    ring[1].addDependency(ring[2])
    #expect(!ring[2].isCancelled)
    ring[0].addDependency(ring[1])
    for operation in ring { #expect(path(of: operation)?.count == 4) }
  }

  @Test func `two threads that close a ring from both ends never miss it`() async throws {
    for _ in 0..<500 {
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

  @Test func `in a cancelled ring, the wait that closes its path is no dependency any more`()
    async throws
  {
    let ring = operations("a", "b", "c", "d")
    let (outside, behind) = (Operation(), Operation())
    // Two rings in one: a → b → c → a and a → b → d → a.
    for (from, to) in [(0, 1), (1, 2), (1, 3), (2, 0), (3, 0)] {
      ring[from].addDependency(ring[to])
      ring[from].addDependency(outside)
    }
    behind.addDependency(ring[0])
    let queue = OperationQueue()
    queue.addOperations(ring + [behind, outside])
    try await queue.untilAllOperationsAreFinished()
    let path = try #require(self.path(of: ring[0]))
    let last = try #require(ring.first { $0.name == path[path.count - 2] })
    #expect(!last.dependencies.contains { $0.name == path[0] })
    #expect(ring.allSatisfy { $0.dependencies.contains(outside) })
    #expect(behind.dependencies == [ring[0]])
    // No more than what it takes: each way around is open, all else is there.
    let left = ring.flatMap { $0.dependencies }.count { ring.contains($0) }
    #expect(path[0] == "b" ? left == 4 : left == 3)
  }

  @Test func `the description says what to do`() {
    let error = OperationCycleError(path: ["a", "b", "a"])
    #expect("\(error)".contains("a → b → a"))
    #expect("\(error)".contains("Remove one of these waits"))
  }
}
