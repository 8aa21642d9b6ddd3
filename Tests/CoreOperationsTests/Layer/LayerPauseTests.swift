import CoreOperations
import TestSupport
import Testing

@Suite(.watched) struct `A pause of an operation that executes` {
  private let executor = ManualExecutor()
  private let queue: OperationQueue
  private let log = Log<String>()

  init() {
    queue = OperationQueue(executor: executor)
    queue.maxConcurrentOperationCount = 1
  }

  private func open(
    _ name: String = "a",
    _ change: (inout sending Layered.Answers) -> Void = { _ in }
  ) -> Layered {
    Layered(name, log: log) { answers in
      answers.isOverAtOnce = false
      change(&answers)
    }
  }

  private func add(_ operations: Operation...) {
    queue.addOperations(operations)
    executor.runAll()
  }

  @Test func `a pause releases the slot and regains it before later operations`() {
    let (paused, second, third) = (open("a"), open("b"), open("c"))
    add(paused, second, third)
    #expect(log.entries.last == "a started")
    paused.beginPause()
    executor.runAll()
    #expect(log.entries.last == "b started")
    #expect(queue.operations == [paused, second, third])
    paused.endPause()
    executor.runAll()
    #expect(log.entries.last == "b started")
    second.end()
    executor.runAll()
    #expect(log.entries.suffix(2) == ["a asked to start", "a goes on"])
    #expect(queue.operations == [paused, third])
    paused.end()
    executor.runAll()
    #expect(log.entries.last == "c started")
    third.end()
    executor.runAll()
    #expect(queue.operationCount == 0)
  }

  @Test func `a pause begins when the start in which it was requested returns`() {
    let second = open("b")
    let paused = open("a") { answers in
      answers.start = { [executor, log] operation in
        operation.beginPause()
        operation.endPause()
        executor.runAll()
        log.add("a returns")
      }
    }
    add(paused, second)
    #expect(log.entries.suffix(3) == ["a returns", "a asked to start", "a goes on"])
    paused.end()
    executor.runAll()
    #expect(log.entries.last == "b started")
    second.end()
    executor.runAll()
    #expect(queue.operationCount == 0)
  }

  @Test func `a pause may be requested again when the previous pause ends`() {
    let second = open("b")
    let rounds = Tally()
    let paused = open("a") { answers in
      answers.turnCameAgain = { operation in
        rounds.add()
        if rounds.now == 3 { return operation.end() }
        operation.beginPause()
        operation.endPause()
      }
    }
    add(paused, second)
    paused.beginPause()
    paused.endPause()
    executor.runAll()
    #expect(log.entries.last == "b started")
    second.end()
    executor.runAll()
    #expect(rounds.now == 3)
    #expect(queue.operationCount == 0)
    #expect(log.entries.filter { $0 == "a goes on" }.count == 3)
  }

  @Test func `a pause doesn't end in a suspended queue or at a limit of 0`() {
    let paused = open()
    add(paused)
    paused.beginPause()
    queue.isSuspended = true
    paused.endPause()
    executor.runAll()
    #expect(log.entries.last == "a started")
    queue.maxConcurrentOperationCount = 0
    queue.isSuspended = false
    executor.runAll()
    #expect(log.entries.last == "a started")
    queue.maxConcurrentOperationCount = 1
    executor.runAll()
    #expect(log.entries.last == "a goes on")
  }

  @Test(arguments: 0...4)
  func `a pause ends with the operation in any waiting state`(place: Int) {
    let second = open("b")
    let paused = open("a") { answers in
      answers.decideStart = { [log] _ in
        // At the second time: a claim is busy.
        log.entries.filter { $0 == "a asked to start" }.count > 1 && place >= 2 ? .park : .run
      }
    }
    add(paused)
    paused.beginPause()
    if place == 1 { add(second) }
    if place >= 1 {
      paused.endPause()
      executor.runAll()
    }
    if place >= 3 {
      #expect(paused.reserveSlot())
      if place == 4 { paused.wakeQueue() }
    }
    paused.end()
    #expect(paused.isFinished)
    if place == 1 {
      #expect(queue.operations == [second])
      second.end()
    }
    executor.runAll()
    #expect(queue.operationCount == 0)
    // Its slot is free.
    let next = open("next")
    add(next)
    #expect(log.entries.last == "next started")
    #expect(!paused.reserveSlot())
    paused.reoffer()
    executor.runAll()
    next.end()
    #expect(queue.operationCount == 0)
  }

  @Test func `a pause keeps its slot and place until an idle hold is released`() {
    let paused = open()
    let second = open("b")
    add(paused, second)
    paused.beginPause()
    executor.runAll()
    paused.endPause()
    paused.holdUntilIdle()
    paused.end()
    paused.queuePriority = .veryHigh
    second.end()
    executor.runAll()
    #expect(queue.operations == [paused])
    #expect(!log.entries.contains("a goes on"))
    paused.releaseIdleHold()
    #expect(queue.operationCount == 0)
  }

  @Test func `a paused operation that is parked gets its slot and claim together`() {
    let isBusy = Locked(false)
    let paused = open("a") { answers in
      answers.decideStart = { _ in isBusy.withLock { $0 } ? .park : .run }
    }
    let second = open("b")
    add(paused)
    isBusy.withLock { $0 = true }
    paused.beginPause()
    paused.endPause()
    executor.runAll()
    add(second)
    #expect(log.entries.last == "b started", "a parked operation has no slot")
    #expect(!paused.reserveSlot(), "the limit is used up")
    second.end()
    #expect(paused.reserveSlot())
    let third = open("c")
    add(third)
    paused.wakeQueue()
    executor.runAll()
    #expect(log.entries.last == "a goes on")
    paused.end()
    executor.runAll()
    #expect(log.entries.last == "c started")
    third.end()
  }

  @Test func `a paused operation waits for neither a late dependency nor a barrier`() {
    let late = Operation()
    let ran = Tally()
    let paused = open()
    add(paused)
    paused.beginPause()
    paused.addDependency(late)
    queue.addBarrierBlock { ran.add() }
    executor.runAll()
    #expect(ran.now == 0)
    paused.endPause()
    executor.runAll()
    #expect(log.entries.last == "a goes on")
    #expect(ran.now == 0)
    paused.end()
    executor.runAll()
    #expect(ran.now == 1)
    late.start()
  }

  @Test func `a pause ends with its operation without another start`() {
    let isBusy = Locked(false)
    for (place, expected) in [(0, false), (1, false), (2, true)] {
      let paused = open("a\(place)") { answers in
        answers.decideStart = { _ in isBusy.withLock { $0 } ? .park : .run }
      }
      add(paused)
      paused.beginPause()
      isBusy.withLock { $0 = place > 0 }
      if place == 0 { queue.isSuspended = true }
      paused.endPause()
      executor.runAll()
      if place == 2 { #expect(paused.reserveSlot()) }
      paused.abandonTurn()
      queue.isSuspended = false
      paused.reoffer()
      isBusy.withLock { $0 = false }
      paused.wakeQueue()
      executor.runAll()
      #expect(log.entries.contains("a\(place) goes on") == expected)
      #expect(queue.operations == [paused])
      paused.end()
      #expect(queue.operationCount == 0)
    }
  }

  @Test func `the wait causes of a paused operation name its obstacle`() {
    queue.name = "queue"
    let paused = open()
    let second = open("b")
    add(paused, second)
    #expect(paused.waitCauses.isEmpty)
    paused.beginPause()
    executor.runAll()
    #expect(paused.waitCauses.isEmpty, "that is for the layer to say")
    paused.endPause()
    executor.runAll()
    #expect(
      paused.waitCauses.map(\.description) == [
        "waits for a slot of queue “queue”, whose limit of 1 is used up by b"
      ]
    )
    second.end()
    executor.runAll()
    #expect(paused.waitCauses.isEmpty)
    paused.end()
  }

  @Test func `a pause has no effect on a member that isn't executing`() {
    let finished = open("a") { $0.isOverAtOnce = true }
    add(finished)
    finished.beginPause()
    finished.endPause()
    queue.isSuspended = true
    let waiting = open("b")
    add(waiting)
    waiting.beginPause()
    waiting.endPause()
    queue.isSuspended = false
    executor.runAll()
    #expect(log.entries.suffix(2) == ["b asked to start", "b started"])
    waiting.end()
    #expect(queue.operationCount == 0)
  }
}
