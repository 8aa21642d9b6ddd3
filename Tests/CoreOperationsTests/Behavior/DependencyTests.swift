import TestSupport
import Testing

@testable import CoreOperations

@Suite(.watched) struct `Dependencies` {
  @Test func `a chain added backwards runs in order`() async throws {
    let log = Log<Int>()
    let chain = (0..<100).map { number in BlockOperation { log.add(number) } }
    for (earlier, later) in zip(chain, chain.dropFirst()) { later.addDependency(earlier) }
    let queue = OperationQueue()
    queue.addOperations(chain.reversed())
    try await queue.untilAllOperationsAreFinished()
    #expect(log.entries == Array(0..<100))
  }

  @Test func `an operation starts when the last of its dependencies has finished`() async throws {
    let count = 40
    let parents = (0..<count).map { _ in Operation() }
    let openParents = Tally()
    let child = BlockOperation { openParents.add(parents.count { !$0.isFinished }) }
    for parent in parents { child.addDependency(parent) }
    let queue = OperationQueue()
    queue.addOperation(child)
    queue.addOperations(parents)
    try await queue.untilAllOperationsAreFinished()
    #expect(child.isFinished)
    #expect(openParents.now == 0)
  }

  @Test func `several dependencies are added in order from any sequence`() async throws {
    final class Step: Operation, @unchecked Sendable {
      let added = Log<Operation>()
      override func addDependency(_ op: Operation) {
        added.add(op)
        super.addDependency(op)
      }
    }
    let blocks = (0..<3).map { _ in BlockOperation {} }
    let (first, last, step) = (Operation(), Step(), Step())
    step.addDependencies(blocks)
    step.addDependencies([first, last])
    step.addDependencies(Set(blocks))
    step.addDependencies(blocks.lazy.filter { $0.isFinished })
    step.addDependencies([Step]())
    #expect(step.dependencies == blocks + [first, last])
    #expect(Array(step.added.entries.prefix(5)) == blocks + [first, last])
    #expect(step.added.entries.count == 8)
    #expect(!step.isReady)
    let queue = OperationQueue()
    queue.addOperations([step, first, last] + blocks)
    try await queue.untilAllOperationsAreFinished()
    #expect(step.isFinished && !step.isCancelled)
  }

  @Test func `an operation among its own added dependencies completes a cycle`() async throws {
    let (first, last, own) = (Operation(), Operation(), Operation())
    own.addDependencies([first, own, last])
    #expect(own.dependencies == [first, last])
    #expect(own.cancellationReason is OperationCycleError)
  }

  @Test func `an operation's readiness follows its dependencies`() {
    let first = Operation()
    let second = Operation()
    let child = Operation()
    #expect(child.isReady)
    child.addDependency(first)
    child.addDependency(second)
    #expect(!child.isReady)
    first.start()
    #expect(!child.isReady)
    second.start()
    #expect(child.isReady)
    child.start()
    #expect(child.isReady)
  }

  @Test func `a dependency in another queue delays the operation`() async throws {
    let log = Log<String>()
    let gate = Latch()
    let first = BlockOperation {
      gate.pass()
      log.add("first")
    }
    let second = BlockOperation { log.add("second") }
    second.addDependency(first)
    let queues = [OperationQueue(), OperationQueue()]
    queues[1].addOperation(second)
    queues[0].addOperation(first)
    gate.open()
    try await second.untilFinished()
    #expect(log.entries == ["first", "second"])
    for queue in queues { try await queue.untilAllOperationsAreFinished() }
  }

  @Test func `an unqueued dependency delays the operation until it is started manually`() {
    let executor = ManualExecutor()
    let queue = OperationQueue(executor: executor)
    let byHand = Operation()
    let child = Operation()
    child.addDependency(byHand)
    queue.addOperation(child)
    executor.runAll()
    #expect(!child.isFinished)
    byHand.start()
    executor.runAll()
    #expect(child.isFinished)
  }

  @Test func `a cancelled dependency counts as finished`() async throws {
    let gate = Latch()
    let cancelled = Operation()
    let child = BlockOperation { gate.open() }
    child.addDependency(cancelled)
    cancelled.cancel()
    let queue = OperationQueue()
    queue.addOperations([child, cancelled])
    await gate.opened()
    #expect(cancelled.isFinished)
    #expect(!child.isCancelled)
  }

  @Test func `a dependency that has finished is recorded without delaying`() {
    let finished = Operation()
    finished.start()
    let child = Operation()
    child.addDependency(finished)
    #expect(child.isReady)
    #expect(child.dependencies == [finished])
    child.start()
    #expect(child.isFinished)
  }

  @Test(arguments: [3, 50])
  func `dependencies are listed in adding order even after finishing`(count: Int) {
    let child = Operation()
    let parents = (0..<count).map { _ in Operation() }
    for parent in parents { child.addDependency(parent) }
    #expect(child.dependencies == parents)
    parents[1].start()
    #expect(child.dependencies == parents)
    child.removeDependency(parents[0])
    #expect(child.dependencies == Array(parents.dropFirst()))
    child.removeDependency(parents[count - 1])
    #expect(child.dependencies == Array(parents[1..<(count - 1)]))
    child.addDependency(parents[0])
    #expect(child.dependencies == Array(parents[1..<(count - 1)]) + [parents[0]])
  }

  @Test(arguments: [1, 30])
  func `adding a dependency again changes nothing`(count: Int) {
    let parents = (0..<count).map { _ in Operation() }
    let child = Operation()
    for _ in 0..<2 { for parent in parents { child.addDependency(parent) } }
    #expect(child.dependencies == parents)
    for parent in parents { child.removeDependency(parent) }
    #expect(child.dependencies.isEmpty)
    #expect(child.isReady)
  }

  @Test func `an operation that depends on itself is cancelled with the path`() throws {
    let executor = ManualExecutor()
    let queue = OperationQueue(executor: executor)
    let loop = Operation()
    loop.name = "loop"
    loop.addDependency(loop)
    #expect(loop.isCancelled)
    #expect(loop.dependencies.isEmpty)
    let error = try #require(loop.cancellationReason as? OperationCycleError)
    #expect(error.path == ["loop", "loop"])
    #expect(error.description.contains("loop → loop"))
    queue.addOperation(loop)
    executor.runAll()
    #expect(loop.isFinished)
  }

  @Test func `a queued operation that becomes its own dependency is cancelled`() {
    let executor = ManualExecutor()
    let queue = OperationQueue(executor: executor)
    let ran = Latch()
    let loop = BlockOperation { ran.open() }
    queue.addOperation(loop)
    loop.addDependency(loop)
    executor.runAll()
    #expect(loop.isFinished)
    #expect(!ran.isOpen)
    #expect(loop.cancellationReason is OperationCycleError)
  }

  @Test func `dependents see the effects of their dependency`() async throws {
    // Plain variables on purpose: the sanitized run would report a missing happens-before.
    final class Box: @unchecked Sendable {
      var value = 0
    }
    let queue = OperationQueue()
    for _ in 0..<Effort.rounds(200) {
      let box = Box()
      let write = BlockOperation { box.value = 1 }
      let read = BlockOperation { box.value += 1 }
      read.addDependency(write)
      queue.addOperations([read, write])
      try await read.untilFinished()
      #expect(box.value == 2)
    }
  }
}
