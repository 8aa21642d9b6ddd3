import AdvancedOperations
import AdvancedOperationsTesting
import CoreOperations
import Testing

@Test func `Ending a queue: what finishes, what is cut short, what comes too late`() throws {
  let print = Lines()

  let simulation = SimulatedEnvironment(seed: 1)
  let clock = simulation.environment.clock
  let queue = AdvancedOperationQueue(name: "mail", environment: simulation.environment)

  let send = ResultOperation(name: "send") { try await clock.sleep(for: .seconds(1)) }
  let sync = ResultOperation(name: "sync") { try await clock.sleep(for: .seconds(60)) }
  let index = sync.then(name: "index") { _ in }
  queue.addOperations([send, sync, index])

  let report = try simulation.run { await queue.drain(within: .seconds(20)) }
  print("after \(clock.now.components.seconds) s:", report)

  let late = ResultOperation(name: "late") {}
  queue.addOperation(late)
  simulation.run()
  for operation in [send, sync, index, late] { print(operation.explain()) }

  try expectShown(print, in: "EndingAQueue")
  #expect(queue.isClosed)
  #expect(report.succeededCount == 1)
  #expect(report.cancelledCount == 2)
  #expect(report.turnedAwayCount == 0)
  #expect((late.cancellationReason as? OperationQueueClosed)?.cause == .addedLate)
}

@Test func `Ending a queue: what a member adds is taken in`() throws {
  let simulation = SimulatedEnvironment(seed: 1)
  let clock = simulation.environment.clock
  let queue = AdvancedOperationQueue(name: "mail", environment: simulation.environment)
  let sent = Lines()

  let send = ResultOperation(name: "send") {
    try await clock.sleep(for: .seconds(1))
    try AdvancedOperation.current?.produce(ResultOperation(name: "log") { sent("logged") })
  }

  queue.addOperation(send)
  let report = try simulation.run { await queue.drain() }
  #expect(sent.all == ["logged"])
  #expect("\(report)" == "2 succeeded")
}

@Test func `Ending a queue: a successor, whatever became of the operation`() throws {
  let simulation = SimulatedEnvironment(seed: 1)
  let clock = simulation.environment.clock
  let queue = AdvancedOperationQueue(name: "mail", environment: simulation.environment)
  let made = Lines()
  @Sendable func makePoll() -> ResultOperation<Void> {
    made("poll")
    let poll = ResultOperation(name: "poll") { try await clock.sleep(for: .seconds(1)) }

    poll.onFinish { [weak queue] _, _ in
      if let queue, !queue.isClosed { queue.addOperation(makePoll()) }
    }

    return poll
  }

  queue.addOperation(makePoll())
  simulation.run(until: .milliseconds(2_500))
  let report = try simulation.run { await queue.drain(within: .seconds(20)) }
  simulation.run()
  #expect(made.all == ["poll", "poll", "poll"])
  #expect("\(report)" == "1 succeeded")
}

@Test func `Ending a queue: no new work, without closing it`() async throws {
  let queue = AdvancedOperationQueue()
  let operations = (1...3).map { _ in AdvancedOperation() }
  queue.addOperations(operations)

  try await queue.untilAllOperationsAreFinished()

  let another = AdvancedOperation()
  queue.addOperation(another)
  try await another.untilFinished()
  #expect(another.ending == "succeeded")
}

@Test func `Ending a queue: a suspended one is resumed when the time is over`() throws {
  let simulation = SimulatedEnvironment(seed: 1)
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  queue.isSuspended = true
  let waiting = AdvancedOperation()
  queue.addOperation(waiting)
  let report = try simulation.run { await queue.drain(within: .seconds(20)) }
  #expect("\(report)".hasPrefix("1 cancelled"))
  #expect(waiting.isFinished)
}
