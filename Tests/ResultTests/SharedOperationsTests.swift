import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import CoreOperations
import TestSupport
import Testing

@Suite struct `Shared operations` {
  // MARK: Joining

  @Test(arguments: seeds)
  func `a thousand callers over ten keys need ten bodies`(seed: UInt64) throws {
    let world = World(seed: seed)
    let desk = Desk(world, taking: .seconds(10))
    let calls = (0..<1_000).map { number in
      desk.call(number % 10, after: .milliseconds(number))
    }
    world.simulation.run()
    #expect(desk.keys.entries.count == 10)
    for (number, call) in calls.enumerated() {
      #expect(try call.result.value?.get() == number % 10)
      #expect(call.end.value == .milliseconds(number % 10) + .seconds(10))
    }
    #expect(desk.shared.isEmpty)
  }

  @Test func `a call after the end creates a new operation`() throws {
    let world = World()
    let desk = Desk(world, taking: .seconds(1))
    let first = desk.call(1)
    let second = desk.call(1, after: .seconds(2))
    world.simulation.run()
    #expect(desk.keys.entries == [1, 1])
    #expect(first.end.value == .seconds(1) && second.end.value == .seconds(3))
  }

  @Test func `a failure reaches all callers and isn't kept`() throws {
    let world = World()
    let desk = Desk(world, taking: .seconds(1)) { if $0 == 0 { throw Flaw(7) } }
    let calls = (0..<3).map { _ in desk.call(1) }
    let later = desk.call(1, after: .seconds(1))
    world.simulation.run()
    for call in calls {
      let failure = #expect(throws: OperationFailure.self) { try call.result.value?.get() }
      #expect(failure?.elements.first?.error as? Flaw == Flaw(7))
    }
    #expect(try later.result.value?.get() == 1)
    #expect(desk.keys.entries.count == 2)
  }

  @Test func `an operation that the program cancels isn't joined any more`() throws {
    let world = World()
    let desk = Desk(world, taking: .seconds(10), ignoringCancels: true)
    let first = desk.call(1)
    world.simulation.advance(by: .seconds(1))
    desk.shared.operation(for: 1)?.cancel(withError: Flaw(1))
    #expect(desk.shared.operation(for: 1) == nil)
    let second = desk.call(1)
    world.simulation.run()
    #expect(throws: OperationFailure.self) { try first.result.value?.get() }
    #expect(try second.result.value?.get() == 1)
    #expect(second.end.value == .seconds(20))
  }

  @Test func `the closure of a key may request the value of another key, without a lock`() throws {
    let world = World()
    let other = Desk(world, taking: .seconds(1))
    let shared = SharedOperations<Int, Int>(queue: world.queue) { key in
      // The lock of this object is free.
      ResultOperation { try await other.shared.value(for: key) + 1 }
    }
    let nested = SharedOperations<Int, Int>(queue: world.queue) { key in
      #expect(shared.operation(for: key) == nil)
      return ResultOperation { try await shared.value(for: key) * 10 }
    }
    #expect(try world.simulation.run { try await nested.value(for: 4) } == 50)
  }

  @Test func `predecessors that are in no queue are added, and cancelled with the operation`()
    throws
  {
    let world = World()
    let begun = Counter()
    let shared = SharedOperations<Int, Int>(queue: world.queue) { key in
      ResultOperation(name: "download") {
        begun.add()
        try await OperationClock.current.sleep(for: .seconds(5))
        return key
      }.then { $0 + 1 }
    }
    #expect(try world.simulation.run { try await shared.value(for: 1) } == 2)
    let call = Call(world, after: .zero) { try await shared.value(for: 1) }
    world.simulation.advance(by: .seconds(1))
    call.task.cancel()
    world.simulation.run()
    #expect(begun.count == 2)
    #expect(world.queue.operationCount == 0)
    #expect(shared.isEmpty)
    #expect(call.end.value == .seconds(6))
  }

  // MARK: Leaving

  @Test func `shared work continues until the last caller has left, and ends then`() throws {
    let world = World()
    let desk = Desk(world, taking: .seconds(100))
    let calls = (0..<1_000).map { _ in desk.call(1) }
    world.simulation.advance(by: .seconds(1))
    let operation = try #require(desk.shared.operation(for: 1))
    for call in calls.dropLast() { call.task.cancel() }
    world.simulation.advance(by: .seconds(1))
    #expect(calls.dropLast().allSatisfy { $0.end.value == .seconds(1) && $0.wasCancelled })
    #expect(!operation.isCancelled)
    calls.last?.task.cancel()
    #expect(operation.isCancelled)
    #expect(operation.cancellationReason is CancellationError)
    world.simulation.run()
    #expect(desk.bodies.ends.entries == [.seconds(2)])
    #expect(desk.shared.isEmpty)
  }

  @Test func `a caller who arrives after one of two has left joins the body`() throws {
    let world = World()
    let desk = Desk(world, taking: .seconds(10))
    let first = desk.call(1)
    let second = desk.call(1)
    world.simulation.advance(by: .seconds(1))
    first.task.cancel()
    let third = desk.call(1)
    world.simulation.run()
    #expect(first.wasCancelled)
    #expect(try second.result.value?.get() == 1)
    #expect(try third.result.value?.get() == 1)
    #expect(desk.keys.entries.count == 1)
  }

  @Test func `a caller who arrives before the cancelled body's end gets the next body`() throws {
    let world = World()
    let desk = Desk(world, taking: .seconds(10), ignoringCancels: true)
    let first = desk.call(1)
    world.simulation.advance(by: .seconds(1))
    first.task.cancel()
    let second = desk.call(1)
    world.simulation.advance(by: .seconds(1))
    #expect(desk.keys.entries.count == 1)
    world.simulation.run()
    #expect(try second.result.value?.get() == 1)
    #expect(desk.bodies.begins.entries == [.zero, .seconds(10)])
    #expect(desk.bodies.most == 1)
  }

  @Test func `a body that outlasts its operation keeps the next one waiting`() throws {
    final class Hasty: ResultOperation<Int>, @unchecked Sendable {
      override var cancellationPolicy: CancellationPolicy { .finishImmediately }
    }
    let world = World()
    let bodies = Bodies()
    let shared = SharedOperations<Int, Int>(queue: world.queue) { key in
      Hasty { await bodies.run(.seconds(10), ignoringCancels: true) { key } }
    }
    let first = Call(world) { try await shared.value(for: 1) }
    world.simulation.advance(by: .seconds(1))
    first.task.cancel()
    let second = Call(world) { try await shared.value(for: 1) }
    world.simulation.run()
    #expect(try second.result.value?.get() == 1)
    #expect(bodies.begins.entries == [.zero, .seconds(10)])
    #expect(bodies.most == 1)
    #expect(shared.isEmpty)
  }

  @Test func `a call in a cancelled task creates nothing`() throws {
    let world = World()
    let desk = Desk(world, taking: .seconds(1))
    let call = desk.call(1)
    call.task.cancel()
    world.simulation.run()
    #expect(call.wasCancelled)
    #expect(desk.made.entries.count == 0)
  }

  @Test func `work that the program runs as well isn't cancelled with the callers`() throws {
    let world = World()
    let desk = Desk(world, taking: .seconds(10))
    let call = desk.call(1)
    world.simulation.advance(by: .seconds(1))
    let operation = try #require(desk.shared.operation(for: 1))
    let other = Call(world) { try await world.queue.run(operation) }
    world.simulation.advance(by: .seconds(1))
    call.task.cancel()
    world.simulation.run()
    #expect(try other.result.value?.get() == 1)
  }

  @Test func `an operation that another workflow needs is joined after its callers have left`()
    throws
  {
    let world = World()
    let desk = Desk(world, taking: .seconds(10))
    let call = desk.call(1)
    world.simulation.advance(by: .seconds(1))
    let token = try #require(desk.shared.operation(for: 1))
    let upload = token.then(name: "upload") { $0 + 1 }
    let other = Call(world) { try await world.queue.run(upload) }
    world.simulation.advance(by: .seconds(1))
    call.task.cancel()
    world.simulation.advance(by: .seconds(1))
    #expect(!token.isCancelled && desk.shared.operation(for: 1) === token)
    let late = desk.call(1)
    world.simulation.advance(by: .seconds(1))
    // Now the late caller alone needs the operation.
    other.task.cancel()
    world.simulation.run()
    #expect(try late.result.value?.get() == 1)
    #expect(desk.made.entries.count == 1 && late.end.value == .seconds(10))
    #expect(desk.shared.isEmpty)
  }

  @Test func `an operation that was cancelled in a suspended queue doesn't delay the next one`()
    throws
  {
    let world = World()
    let desk = Desk(world, taking: .seconds(1))
    world.queue.isSuspended = true
    let first = desk.call(1)
    world.simulation.advance(by: .seconds(1))
    first.task.cancel()
    world.simulation.advance(by: .seconds(1))
    let second = desk.call(1)
    world.simulation.advance(by: .seconds(1))
    #expect(desk.made.entries.count == 2)
    world.queue.isSuspended = false
    world.simulation.run()
    #expect(try second.result.value?.get() == 1)
    #expect(desk.keys.entries.count == 1)
    #expect(desk.shared.isEmpty)
  }

  // MARK: Fresh values

  @Test func `a fresh value doesn't come from an operation whose predecessor has begun`() throws {
    let world = World()
    let document = Changing(1)
    let disk = Log<Int>()
    let saves = SharedOperations<Int, Int>("saves", queue: world.queue) { _ in
      ResultOperation(name: "read") {
        let version = document.value
        try await OperationClock.current.sleep(for: .seconds(1))
        return version
      }.then(name: "write") { version in
        disk.add(version)
        return version
      }
    }
    let first = Call(world) { try await saves.freshValue(for: 1) }
    world.simulation.advance(by: .milliseconds(500))
    document.value = 2
    let second = Call(world) { try await saves.freshValue(for: 1) }
    world.simulation.run()
    #expect(try first.result.value?.get() == 1)
    #expect(try second.result.value?.get() == 2)
    #expect(disk.entries == [1, 2])
  }

  @Test func `a fresh value doesn't come from an operation whose conditions have begun`() throws {
    let world = World()
    let probe = ConditionProbe(name: "online")
    let made = Counter()
    let shared = SharedOperations<Int, Int>(queue: world.queue) { key in
      made.add()
      let operation = ResultOperation { key }
      if made.count == 1 { operation.addCondition(probe) }
      return operation
    }
    let first = Call(world) { try await shared.value(for: 1) }
    world.simulation.advance(by: .seconds(1))
    let second = Call(world) { try await shared.freshValue(for: 1) }
    world.simulation.advance(by: .seconds(1))
    probe.answer(.satisfied)
    world.simulation.run()
    #expect(first.end.value == .seconds(2) && second.end.value == .seconds(2))
    #expect(made.count == 2)
  }

  @Test func `a fresh value doesn't come from an operation that uses an earlier value`() throws {
    let world = World(limit: 1)
    let earlier = ResultOperation { 7 }
    world.run(earlier)
    let made = Counter()
    let shared = SharedOperations<Int, Int>(queue: world.queue) { key in
      made.add()
      return earlier.then { $0 + key }
    }
    world.queue.addOperation(world.taking(5, "before"))
    let first = Call(world) { try await shared.freshValue(for: 1) }
    world.simulation.advance(by: .seconds(1))
    let second = Call(world) { try await shared.freshValue(for: 1) }
    world.simulation.run()
    #expect(try first.result.value?.get() == 8 && second.result.value?.get() == 8)
    #expect(made.count == 2)
  }

  @Test(arguments: seeds)
  func `fifty calls for a fresh value during a run lead to one more run`(seed: UInt64) throws {
    let world = World(seed: seed)
    let desk = Desk(world, taking: .seconds(10))
    let first = desk.call(1)
    let fresh = (1...50).map { desk.call(1, after: .milliseconds(100 * $0), fresh: true) }
    world.simulation.run()
    #expect(first.end.value == .seconds(10))
    #expect(fresh.allSatisfy { $0.end.value == .seconds(20) })
    #expect(desk.bodies.begins.entries == [.zero, .seconds(10)])
    #expect(desk.made.entries.count == 2)
  }

  @Test func `a call joins the current run, and a fresh call joins the next run`() throws {
    let world = World()
    let desk = Desk(world, taking: .seconds(10))
    _ = desk.call(1)
    let fresh = desk.call(1, after: .seconds(1), fresh: true)
    let late = desk.call(1, after: .seconds(2))
    world.simulation.run()
    #expect(late.end.value == .seconds(10) && fresh.end.value == .seconds(20))
  }

  @Test func `a fresh value may come from an operation that has not started`() throws {
    let world = World(limit: 1)
    let desk = Desk(world, taking: .seconds(1))
    world.queue.addOperation(world.taking(5, "before"))
    let call = desk.call(1)
    let fresh = desk.call(1, after: .seconds(2), fresh: true)
    world.simulation.run()
    #expect(call.end.value == .seconds(6) && fresh.end.value == .seconds(6))
    #expect(desk.made.entries.count == 1)
  }

  @Test func `a next run without callers is never created`() throws {
    let world = World()
    let desk = Desk(world, taking: .seconds(10))
    _ = desk.call(1)
    let fresh = desk.call(1, after: .seconds(1), fresh: true)
    world.simulation.advance(by: .seconds(2))
    fresh.task.cancel()
    world.simulation.run()
    #expect(fresh.end.value == .seconds(2) && fresh.wasCancelled)
    #expect(desk.made.entries.count == 1)
    #expect(desk.shared.isEmpty)
  }

  // MARK: Cycles

  @Test(arguments: [false, true])
  func `a body that requests its own key gets an error`(fresh: Bool) throws {
    let world = World()
    let own = Locked<SharedOperations<Int, Int>?>(nil)
    let shared = SharedOperations<Int, Int>(queue: world.queue) { key in
      ResultOperation(name: "refresh") {
        guard let own = own.withLock({ $0 }) else { return 0 }
        return fresh ? try await own.freshValue(for: key) : try await own.value(for: key)
      }
    }
    own.withLock { $0 = shared }
    let call = Call(world) { try await shared.value(for: 1) }
    world.simulation.run()
    own.withLock { $0 = nil }
    let failure = #expect(throws: OperationFailure.self) { try call.result.value?.get() }
    let cycle = try #require(failure?.elements.first?.error as? OperationCycleError)
    #expect(cycle.path == ["refresh", "refresh"])
    #expect(shared.isEmpty)
  }

  @Test func `two keys whose bodies ask for each other's get an error`() throws {
    let world = World()
    let own = Locked<SharedOperations<Int, Int>?>(nil)
    let shared = SharedOperations<Int, Int>(queue: world.queue) { key in
      ResultOperation(name: "key \(key)") {
        try await own.withLock { $0 }?.value(for: 1 - key) ?? 0
      }
    }
    own.withLock { $0 = shared }
    let call = Call(world) { try await shared.value(for: 0) }
    world.simulation.run()
    own.withLock { $0 = nil }
    #expect(throws: OperationFailure.self) { try call.result.value?.get() }
    #expect(shared.isEmpty && world.queue.operationCount == 0)
  }

  // MARK: Priority and explanation

  @Test func `the operation has the priority of its most important caller`() throws {
    let world = World(limit: 1)
    let desk = Desk(world, taking: .seconds(1))
    world.queue.addOperation(world.taking(10, "before"))
    let low = desk.call(1, priority: .low)
    world.simulation.advance(by: .seconds(1))
    let operation = try #require(desk.shared.operation(for: 1))
    #expect(operation.queuePriority == .low)
    let high = desk.call(1, priority: .high)
    world.simulation.advance(by: .seconds(1))
    #expect(operation.queuePriority == .high)
    high.task.cancel()
    world.simulation.advance(by: .seconds(1))
    #expect(operation.queuePriority == .low)
    let background = desk.call(2, priority: .background)
    let normal = desk.call(3, priority: .medium)
    world.simulation.advance(by: .seconds(1))
    #expect(desk.shared.operation(for: 2)?.queuePriority == .veryLow)
    #expect(desk.shared.operation(for: 3)?.queuePriority == .normal)
    world.simulation.run()
    #expect(
      [normal, low, background].map(\.end.value) == [.seconds(11), .seconds(12), .seconds(13)]
    )
  }

  @Test func `predecessors have the priority of the callers, too`() throws {
    let world = World()
    world.queue.isSuspended = true
    let download = Changing<ResultOperation<Int>?>(nil)
    let shared = SharedOperations<Int, Int>(queue: world.queue) { key in
      let operation = ResultOperation { key }
      download.value = operation
      return operation.then { $0 }
    }
    let call = Call(world, priority: .high) { try await shared.value(for: 1) }
    world.simulation.advance(by: .seconds(1))
    #expect(download.value?.queuePriority == .high)
    #expect(shared.operation(for: 1)?.queuePriority == .high)
    world.queue.isSuspended = false
    world.simulation.run()
    #expect(try call.result.value?.get() == 1)
  }

  @Test func `a priority that make has set stays`() throws {
    let world = World()
    let shared = SharedOperations<Int, Int>(queue: world.queue) { key in
      let operation = ResultOperation<Int> { key }
      operation.queuePriority = .veryHigh
      return operation
    }
    world.queue.isSuspended = true
    let call = Call(world, priority: .low) { try await shared.value(for: 1) }
    world.simulation.advance(by: .seconds(1))
    #expect(shared.operation(for: 1)?.queuePriority == .veryHigh)
    call.task.cancel()
    world.simulation.advance(by: .seconds(1))
  }

  @Test func `an explanation says how many callers wait`() throws {
    let world = World()
    let desk = Desk(world, taking: .seconds(10))
    let calls = (0..<3).map { _ in desk.call(1) }
    world.simulation.advance(by: .seconds(1))
    let operation = try #require(desk.shared.operation(for: 1))
    #expect("\(operation.explain())".contains("3 callers of “numbers” wait for it"))
    for call in calls.dropFirst() { call.task.cancel() }
    world.simulation.advance(by: .seconds(1))
    #expect("\(operation.explain())".contains("1 caller of “numbers” waits for it"))
    world.simulation.run()
  }

  @Test func `an explanation counts the callers who wait for the next operation`() throws {
    let world = World()
    let desk = Desk(world, taking: .seconds(10), ignoringCancels: true)
    let first = desk.call(1)
    world.simulation.advance(by: .seconds(1))
    let operation = try #require(desk.shared.operation(for: 1))
    let fresh = desk.call(1, fresh: true)
    world.simulation.advance(by: .seconds(1))
    let text =
      "1 caller of “numbers” waits for it, 1 caller of “numbers” waits for the operation after it"
    #expect("\(operation.explain())".contains(text))
    first.task.cancel()
    let second = desk.call(1)
    world.simulation.advance(by: .seconds(1))
    #expect(
      "\(operation.explain())"
        .contains("\n  2 callers of “numbers” wait for the operation after it\n")
    )
    world.simulation.run()
    #expect(try fresh.result.value?.get() == 1 && second.result.value?.get() == 1)
    #expect(desk.bodies.most == 1)
  }

  // MARK: Memory

  @Test func `shared operations keep nothing after all calls have ended`() throws {
    let world = World()
    weak var kept: Bodies?
    do {
      let token = Bodies()
      kept = token
      let shared = SharedOperations<Int, Int>(queue: world.queue) { key in
        withExtendedLifetime(token) {}
        return ResultOperation { key }
      }
      #expect(try world.simulation.run { try await shared.value(for: 1) } == 1)
    }
    world.simulation.run()
    #expect(kept == nil)
  }

  @Test func `keys with equal hash values are different`() throws {
    struct Poor: Hashable {
      let number: Int
      func hash(into hasher: inout Hasher) { hasher.combine(0) }
    }
    let world = World()
    let shared = SharedOperations<Poor, Int>(queue: world.queue) { key in
      ResultOperation {
        try await OperationClock.current.sleep(for: .seconds(1))
        return key.number
      }
    }
    let calls = (0..<100).map { number in
      Call(world) { try await shared.value(for: Poor(number: number)) }
    }
    world.simulation.run()
    #expect(calls.compactMap { try? $0.result.value?.get() } == Array(0..<100))
    #expect(shared.isEmpty)
  }
}
