import CoreOperations
import TestSupport
import Testing

@Suite(.watched) struct `Internal API for the advanced layer` {
  private let executor = ManualExecutor()
  private let queue: OperationQueue
  private let log = Log<String>()

  init() { queue = OperationQueue(executor: executor) }

  private func layered(
    _ name: String,
    _ change: (inout sending Layered.Answers) -> Void = { _ in }
  ) -> Layered {
    Layered(name, log: log, change)
  }

  @Test func `the layer's hooks are called once each in order`() {
    let dependency = Operation()
    let operation = layered("a") { answers in
      answers.holds = true
      answers.dependenciesDidFinish = { _ in .released(leavesAhead: false) }
    }
    operation.addDependency(dependency)
    queue.addOperation(operation)
    executor.runAll()
    #expect(log.entries == ["a will enqueue", "a did enqueue"])
    dependency.start()
    executor.runAll()
    #expect(
      log.entries.dropFirst(2) == ["a asked for conditions", "a asked to start", "a started"]
    )
    #expect(operation.wasReady)
    #expect(queue.operationCount == 0)
  }

  @Test func `an operation without enqueue callbacks is admitted directly`() {
    let operation = layered("a") { answers in
      answers.holds = true
      answers.needsDidEnqueue = false
      answers.dependenciesDidFinish = { _ in .released(leavesAhead: false) }
    }
    queue.addOperations([operation, layered("b") { $0.needsDidEnqueue = false }])
    #expect(queue.operationCount == 2)
    executor.runAll()
    #expect(log.entries.prefix(2) == ["a will enqueue", "b will enqueue"])
    #expect(
      log.entries.dropFirst(2).sorted()
        == ["a asked for conditions", "a asked to start", "a started"]
        + ["b asked to start", "b started"]
    )
    #expect(queue.operationCount == 0)
  }

  @Test func `an operation that never refuses its start isn't evaluated again`() {
    let late = Operation()
    let operation = layered("a") { $0.isAskedAtStart = false }
    let waiting = layered("b") { answers in
      answers.isAskedAtStart = false
      answers.holds = true
      answers.dependenciesDidFinish = { operation in
        operation.addDependency(late)
        return .released(leavesAhead: false)
      }
    }
    queue.addOperations([operation, waiting])
    executor.runAll()
    #expect(log.entries.filter { $0.hasPrefix("a") }.last == "a started")
    #expect(!log.entries.contains("b started"))
    late.start()
    executor.runAll()
    #expect(log.entries.last == "b started")
    #expect(!log.entries.contains { $0.hasSuffix("asked to start") })
    #expect(queue.operationCount == 0)
  }

  @Test func `a held operation neither starts nor holds a slot until its release`() {
    queue.maxConcurrentOperationCount = 1
    let held = layered("held") { $0.holds = true }
    let other = layered("other")
    queue.addOperations([held, other])
    executor.runAll()
    #expect(other.isFinished)
    #expect(!held.isReady)
    held.releaseReadinessHold(leavesAhead: false)
    #expect(held.isReady)
    executor.runAll()
    #expect(held.isFinished)
  }

  @Test func `a released hold may let an operation leave without a slot`() {
    queue.maxConcurrentOperationCount = 1
    let holder = SelfKept()
    let held = layered("held") { $0.holds = true }
    queue.addOperations([holder, held, layered("other")])
    executor.runAll()
    held.releaseReadinessHold(leavesAhead: true)
    executor.runAll()
    #expect(holder.isExecuting)
    #expect(held.isFinished)
    #expect(!log.entries.contains("other started"))
    #expect(!log.entries.contains("held asked to start"))
    holder.end()
    executor.runAll()
    #expect(queue.operationCount == 0)
  }

  @Test func `a parked operation holds no slot and keeps its place`() {
    queue.maxConcurrentOperationCount = 1
    let mayStart = Tally()
    let parked = layered("parked") { answers in
      answers.decideStart = { _ in mayStart.now > 0 ? .run : .park }
    }
    queue.addOperations([parked, layered("a")])
    executor.runAll()
    #expect(log.entries.last == "a started")
    queue.isSuspended = true
    queue.addOperation(layered("b"))
    mayStart.add()
    parked.reoffer()
    queue.isSuspended = false
    executor.runAll()
    #expect(log.entries.suffix(2) == ["b asked to start", "b started"])
    #expect(log.entries.dropLast(2).last == "parked started")
  }

  @Test func `an offer during the decision to park isn't lost`() {
    let asked = Tally()
    let operation = layered("a") { answers in
      answers.decideStart = { operation in
        operation.reoffer()
        return asked.add() == 0 ? .park : .run
      }
    }
    queue.addOperation(operation)
    executor.runAll()
    #expect(operation.isFinished)
    #expect(asked.now == 2)
  }

  @Test func `an offer during the decision to park causes one more decision`() {
    let asked = Tally()
    let operation = layered("a") { answers in
      answers.decideStart = { operation in
        let count = asked.add()
        if count == 0 { operation.reoffer() }
        return count < 10 ? .park : .run
      }
    }
    queue.addOperation(operation)
    executor.runAll()
    #expect(asked.now == 2)
    operation.reoffer()
    executor.runAll()
    #expect(asked.now == 3)
    operation.cancel()
    operation.leaveAhead()
    executor.runAll()
    #expect(queue.operationCount == 0)
  }

  @Test(arguments: [1, 2, 3])
  func `one condition is evaluated at a time if the limit is used up`(limit: Int) {
    queue.maxConcurrentOperationCount = limit
    // All slots but one.
    let holders = (1..<limit).map { _ in SelfKept() }
    queue.addOperations(holders)
    executor.runAll()
    let questions = (0..<3).map { number in
      layered("\(number)") { answers in
        answers.holds = true
        answers.dependenciesDidFinish = { [executor, log] _ in
          executor.runAll()
          log.add("\(number) answers")
          return .released(leavesAhead: false)
        }
      }
    }
    queue.addOperations(questions)
    executor.runAll()
    let order = log.entries.filter { $0.hasSuffix("conditions") || $0.hasSuffix("answers") }
    #expect(
      order == (0..<3).flatMap { ["\($0) asked for conditions", "\($0) answers"] }
    )
    for holder in holders { holder.end() }
    executor.runAll()
    #expect(queue.operationCount == 0)
  }

  @Test func `several conditions are evaluated at the same time if slots are free`() {
    queue.maxConcurrentOperationCount = 2
    let questions = (0..<2).map { number in
      layered("\(number)") { answers in
        answers.holds = true
        answers.dependenciesDidFinish = { [executor, log] _ in
          executor.runAll()
          log.add("\(number) answers")
          return .released(leavesAhead: false)
        }
      }
    }
    queue.addOperations(questions)
    executor.runAll()
    let order = log.entries.filter { $0.hasSuffix("conditions") || $0.hasSuffix("answers") }
    #expect(
      order == [
        "0 asked for conditions", "1 asked for conditions", "1 answers", "0 answers",
      ]
    )
    #expect(queue.operationCount == 0)
  }

  @Test func `a parked operation is decided again after its late dependency finished`() {
    let late = Operation()
    let asked = Tally()
    let operation = layered("a") { answers in
      answers.decideStart = { _ in asked.add() == 0 ? .park : .run }
    }
    queue.addOperation(operation)
    executor.runAll()
    operation.addDependency(late)
    operation.reoffer()
    executor.runAll()
    #expect(asked.now == 1)
    late.start()
    executor.runAll()
    #expect(operation.isFinished)
  }

  @Test func `a reserved slot counts once and is used without another decision`() {
    queue.maxConcurrentOperationCount = 2
    let operations = (0..<2).map { number in
      layered("\(number)") { answers in
        answers.decideStart = { _ in .park }
        answers.isOverAtOnce = false
      }
    }
    let holder = SelfKept()
    queue.addOperations(operations + [holder])
    #expect(!operations[0].reserveSlot(), "it is not parked")
    executor.runAll()
    queue.isSuspended = true
    #expect(!operations[0].reserveSlot())
    queue.isSuspended = false
    #expect(operations[0].reserveSlot())
    #expect(!operations[1].reserveSlot(), "the slots are used up")
    operations[0].wakeQueue()
    executor.runAll()
    #expect(log.entries.last == "0 started")
    operations[0].end()
    #expect(operations[1].reserveSlot())
    operations[1].wakeQueue()
    executor.runAll()
    #expect(log.entries.last == "1 started")
    operations[1].end()
    holder.end()
    #expect(queue.operationCount == 0)
  }

  @Test func `a dependency that is added at a reserved start delays it`() {
    let late = Operation()
    let asked = Tally()
    let operation = layered("a") { answers in
      answers.decideStart = { _ in asked.add() == 0 ? .park : .run }
      answers.grantedStartBegins = { $0.addDependency(late) }
    }
    queue.addOperation(operation)
    executor.runAll()
    #expect(operation.reserveSlot())
    operation.wakeQueue()
    executor.runAll()
    #expect(log.entries.suffix(2) == ["a begins as granted", "a held back"])
    late.start()
    executor.runAll()
    #expect(log.entries.suffix(2) == ["a asked to start", "a started"])
    #expect(operation.isFinished)
  }
}
