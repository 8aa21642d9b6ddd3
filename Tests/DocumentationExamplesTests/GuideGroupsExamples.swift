import AdvancedOperations
import AdvancedOperationsTesting
import CoreOperations
import Testing

private struct PrinterIsOut: Error, CustomStringConvertible {
  let description = "The printer is out of paper."
}

private struct Hall: Sendable {
  let print: Lines
  func reserve(_ count: Int, for id: String) async throws {
    print("reserve \(count) seats for \(id)")
  }
  func release(_ id: String) async throws { print("release the seats of \(id)") }
}

private struct Bank: Sendable {
  let print: Lines
  func charge(_ euros: Int, for id: String) async throws { print("charge \(euros) € for \(id)") }
  func refund(_ id: String) async throws { print("refund \(id)") }
}

@Test func `Groups: what has been done is undone when a later step fails`() throws {
  let print = Lines()
  let hall = Hall(print: print)
  let bank = Bank(print: print)
  let simulation = SimulatedEnvironment(seed: 1)
  let queue = AdvancedOperationQueue(environment: simulation.environment)

  let id = "order 17"
  let reserve = ResultOperation(name: "reserve") { try await hall.reserve(2, for: id) }
  reserve.onRollback { try await hall.release(id) }

  let pay = reserve.then(name: "pay") { _ in try await bank.charge(40, for: id) }
  pay.onRollback { try await bank.refund(id) }

  let ticket = pay.then(name: "ticket") { _ in throw PrinterIsOut() }

  let order = GroupOperation(name: "order", errorPolicy: .failFast) {
    reserve
    pay
    ticket
  }
  queue.addOperation(order)

  simulation.run()
  print(order.explain())

  try expectShown(print, in: "GroupsScopesAndRollback")
}

private struct NotReleased: Error, CustomStringConvertible {
  let description = "The cabin is still reserved."
}

@Test func `Groups: the error of a rollback`() throws {
  let print = Lines()
  let simulation = SimulatedEnvironment(seed: 1)
  let queue = AdvancedOperationQueue(environment: simulation.environment)

  let cabin = ResultOperation(name: "cabin") { throw Offline() }
  cabin.onRollback { throw NotReleased() }
  let cruise = GroupOperation(name: "cruise") { cabin }
  queue.addOperation(cruise)
  simulation.run()

  if let failure = cruise.outcome?.failure {
    print(failure)
    for element in failure.elements { print("\(element.origin): \(element.error)") }
    if let error = failure.first(NotReleased.self) { print("to be released manually:", error) }
  }

  try expectShown(print, in: "GroupsScopesAndRollback")
}

@Test func `Groups: a time limit passes while a failure is undone`() throws {
  let simulation = SimulatedEnvironment(seed: 1)
  let clock = simulation.environment.clock
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  let log = Lines()
  let pay = ResultOperation(name: "pay") { throw Offline() }
  pay.onRollback {
    try await clock.sleep(for: .seconds(60))
    log("undone")
  }
  let order = GroupOperation(name: "order") { pay }
  order.addObserver(TimeoutObserver(.seconds(30)))
  queue.addOperation(order)
  simulation.run()
  #expect(order.outcome?.isCancelled == true)
  #expect(order.outcome?.failure?.isTimeout == true)
  #expect(order.outcome?.failure?.first(Offline.self) != nil)
  #expect(log.all == ["undone"])
  #expect(simulation.now == .seconds(60))
}

@Test func `Groups: each attempt registers what the body registers`() throws {
  let log = Lines()
  let pay = ResultOperation(name: "pay", retry: .immediate.attempts(3)) {
    let attempt = AdvancedOperation.current?.attempt ?? 0
    AdvancedOperation.current?.onRollback { log("undo attempt \(attempt)") }
    throw Offline()
  }
  pay.onRollback { log("undo all attempts") }
  let order = GroupOperation(name: "order") { pay }
  simulate(order)
  #expect(
    log.all == ["undo attempt 3", "undo attempt 2", "undo attempt 1", "undo all attempts"]
  )
  let failure = try #require(order.outcome?.failure)
  #expect(failure.elements.map(\.origin) == (1...3).map { .child("pay", .attempt($0, .body)) })
}

@Test func `Groups: in async code, and nothing outlives the call`() async throws {
  let mirrors = [FeedServer(), FeedServer()]

  let events = try await withOperations(maxConcurrentOperationCount: 4) { scope in
    let downloads = mirrors.map { mirror in
      scope.add(ResultOperation { try await mirror.download() })
    }
    var events: [String] = []
    for download in downloads { events += try Feed(await download.value).events }
    return events
  }

  #expect(events.count == 6)
}

@Test func `Groups: an error of a child that is none of the group`() {
  struct NoThumbnail: Error {}
  let thumbnail = ResultOperation(name: "thumbnail") { throw NoThumbnail() }

  let publish = GroupOperation(name: "publish") { thumbnail }
  publish.mapChildErrors { child, error in
    error is NoThumbnail ? nil : error
  }

  simulate(publish)
  #expect(publish.ending == "succeeded")
  #expect(thumbnail.ending.hasPrefix("failed"))
}

@Test(arguments: [GroupOperation.ErrorPolicy.collectAll, .failFast])
func `Groups: an error policy decides about the other children`(policy: GroupOperation.ErrorPolicy)
{
  let simulation = SimulatedEnvironment(seed: 1)
  let clock = simulation.environment.clock
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  let bad = ResultOperation(name: "bad") { throw Offline() }
  let slow = ResultOperation(name: "slow") { try await clock.sleep(for: .seconds(60)) }
  let dependent = ResultOperation(name: "dependent") {}
  dependent.addDependency(bad)
  let group = GroupOperation(name: "group", errorPolicy: policy) {
    bad
    slow
    dependent
  }
  queue.addOperation(group)
  simulation.run()
  let goesOn = policy == .collectAll
  #expect(group.ending.hasPrefix("failed"))
  #expect((slow.ending == "succeeded") == goesOn)
  #expect((dependent.ending == "succeeded") == goesOn)
}

@Test func `Groups: a child is added late`() {
  let simulation = SimulatedEnvironment(seed: 1)
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  let ran = Lines()
  let group = GroupOperation(name: "group")
  group.addOperation(
    ResultOperation(name: "list") { [weak group] in
      for name in ["a", "b"] { group?.addOperation(ResultOperation(name: name) { ran(name) }) }
    }
  )
  queue.addOperation(group)
  simulation.run()
  #expect(ran.all.sorted() == ["a", "b"])
  #expect(group.addOperation(AdvancedOperation()) == false)
}

@Test func `Groups: children take no slots of the queue`() {
  let simulation = SimulatedEnvironment(seed: 1)
  let clock = simulation.environment.clock
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  queue.maxConcurrentOperationCount = 1
  queue.addOperation(
    GroupOperation(name: "group") {
      for _ in 1...3 { ResultOperation { try await clock.sleep(for: .seconds(1)) } }
    }
  )
  simulation.run()
  #expect(simulation.now == .seconds(1))
}

@Test func `Groups: no rollback after a success`() {
  let log = Lines()
  let step = ResultOperation(name: "step") {}
  step.onRollback { log("undone") }
  let group = GroupOperation { step }
  simulate(group)
  #expect(group.ending == "succeeded" && log.all.isEmpty)
}

@Test func `Groups: a scope that throws cancels what still runs`() async throws {
  struct Enough: Error {}
  let simulation = SimulatedEnvironment(seed: 1)
  let clock = simulation.environment.clock
  let slow = ResultOperation(name: "slow") { try await clock.sleep(for: .seconds(60)) }
  #expect(throws: Enough.self) {
    try simulation.run {
      try await withOperations { scope in
        scope.add(slow)
        throw Enough()
      }
    }
  }
  #expect(slow.outcome?.isCancelled == true)
}

@Test func `Groups: a failure in a scope is thrown when the others have ended`() {
  let simulation = SimulatedEnvironment(seed: 1)
  let clock = simulation.environment.clock
  let slow = ResultOperation(name: "slow") { try await clock.sleep(for: .seconds(60)) }
  #expect(throws: OperationFailure.self) {
    try simulation.run {
      try await withOperations { scope in
        scope.add(ResultOperation(name: "bad") { throw Offline() })
        scope.add(slow)
      }
    }
  }
  #expect(slow.ending == "succeeded")
}
