import AdvancedOperations
import AdvancedOperationsTesting
import CoreOperations
import Testing

@Test func `BlockCondition: a closure answers`() {
  let operation = AdvancedOperation()
  let consent = Answer(false)
  let store = Store()

  operation.addCondition(BlockCondition("user agreed") { await consent.isGiven })
  operation.addCondition(
    BlockCondition("is outdated") { operation in
      await store.isCurrent(operation.name) ? .skipped(reason: "it is current") : .satisfied
    }
  )

  simulate(operation)
  #expect(operation.ending == "failed\n  condition “user agreed”: The closure returned false.")
}

private actor Store {
  func isCurrent(_ name: String?) -> Bool { name == nil }
}

@Test func `addCondition: a rule about dependencies in short`() {
  let part = ResultOperation(name: "part") { throw Offline() }
  let publish = AdvancedOperation()
  publish.addDependency(part)

  publish.addCondition(.allSucceeded)

  simulate(publish, part)
  #expect(publish.outcome?.isSuccess == false)
}

private struct Unreachable: Error, Hashable {
  var host: String
}

private func ping(_ host: String) async -> Bool { host == "localhost" }

@Test func `OperationCondition: a type of your own answers asynchronously`() {
  struct Reachable: OperationCondition {
    let host: String
    var name: String { "reachable(\(host))" }
    func evaluate(for operation: AdvancedOperation) async -> OperationConditionResult {
      await ping(host) ? .satisfied : .failed(Unreachable(host: host))
    }
  }

  let (near, far) = (AdvancedOperation(), AdvancedOperation())
  near.addCondition(Reachable(host: "localhost"))
  far.addCondition(Reachable(host: "example.org"))
  simulate(near, far)
  #expect(near.ending == "succeeded")
  let error = far.errors.first as? OperationConditionError
  #expect(error?.condition == "reachable(example.org)")
  #expect(error?.underlying as? Unreachable == Unreachable(host: "example.org"))
}

private func isOpen() -> Bool { false }

@Test func `ImmediateCondition: a type of your own knows the answer`() {
  struct OfficeHours: ImmediateCondition {
    func check(_ operation: AdvancedOperation) -> OperationConditionResult {
      isOpen() ? .satisfied : .skipped(reason: "the office is closed")
    }
  }

  let operation = AdvancedOperation()
  operation.addCondition(OfficeHours())
  simulate(operation)
  #expect(operation.ending == "skipped: the office is closed")
}

@Test(arguments: [true, false])
func `NegatedCondition: the opposite holds`(isDown: Bool) {
  let operation = AdvancedOperation()
  let status = Answer(isDown)

  operation.addCondition(NegatedCondition(BlockCondition("maintenance") { await status.isDown }))

  simulate(operation)
  let failure =
    "failed\n  condition “not maintenance”: “maintenance” is satisfied, but must not be."
  #expect(operation.ending == (isDown ? failure : "succeeded"))
}

@Test(arguments: [true, false], [true, false])
func `AllOf: the second condition is evaluated only if the first is satisfied`(
  isOnline: Bool,
  isDown: Bool
) {
  let asked = Lines()
  let operation = AdvancedOperation()
  let online = BlockCondition("online") { isOnline }
  let maintenance = BlockCondition("maintenance") {
    asked("maintenance")
    return isDown
  }

  operation.addCondition(online && !maintenance)

  simulate(operation)
  #expect(operation.outcome?.isSuccess == (isOnline && !isDown))
  #expect(asked.all.isEmpty == !isOnline)
}

@Test(arguments: [true, false], [true, false])
func `AnyOf: the second condition is evaluated only if the first isn't satisfied`(
  isOnWiFi: Bool,
  insists: Bool
) {
  let operation = AdvancedOperation()
  let onWiFi = BlockCondition("on Wi-Fi") { isOnWiFi }
  let dialog = Answer(insists)

  operation.addCondition(onWiFi || BlockCondition("user insists") { await dialog.answer })

  simulate(operation)
  #expect(operation.outcome?.isSuccess == (isOnWiFi || insists))
}

private struct LocationPermission: OperationCondition {
  private static let asked = Lines()
  static var hasAsked: Bool { !asked.all.isEmpty }

  func dependency(for operation: AdvancedOperation) -> AdvancedOperation? {
    ResultOperation { Self.asked("Where are you?") }
  }

  func evaluate(for operation: AdvancedOperation) async -> OperationConditionResult { .satisfied }
}

@Test func `SilentCondition: the prerequisite of the condition isn't added`() {
  let operation = AdvancedOperation()

  // Not worth asking the user for, but welcome if it was given before:
  operation.addCondition(SilentCondition(LocationPermission()))

  simulate(operation)
  #expect(operation.ending == "succeeded")
  #expect(!LocationPermission.hasAsked)

  let insisting = AdvancedOperation()
  insisting.addCondition(LocationPermission())
  simulate(insisting)
  #expect(LocationPermission.hasAsked)
}

@Test func `NoFailedDependencies: it does not run after a failure`() {
  let parse = ResultOperation(name: "parse") { throw Offline() }
  let store = AdvancedOperation()

  store.addDependency(parse)
  store.addCondition(NoFailedDependencies())

  simulate(parse, store)
  #expect(
    store.ending == """
      failed
        condition “no dependency failed”: Dependency parse failed.
          dependency “parse”
            The connection was lost.
      """
  )
}

@Test func `NoCancelledDependencies: it does not run after a cancel`() {
  let parse = ResultOperation(name: "parse") {}
  let store = AdvancedOperation()

  store.addDependency(parse)
  store.addCondition(NoCancelledDependencies())

  parse.cancel()
  simulate(parse, store)
  let error = store.errors.first as? OperationConditionError
  let broken = error?.underlying as? DependencyRule.Broken
  #expect(broken?.dependencies == ["parse was cancelled"])
}

@Test func `FileExists and FreeSpace: conditions check the machine`() {
  let importing = AdvancedOperation()
  let download = AdvancedOperation()

  importing.addCondition(FileExists("/data/feed.json", isReadable: true))
  importing.addCondition(FileExists("/data/archive", kind: .folder))

  download.addCondition(FreeSpace(atLeast: 500_000_000, at: "/var/cache"))

  let full = FreeSpace(atLeast: 500_000_000, at: "/var/cache", measuredBy: { _ in 1_000 })
  #expect(!full.check(download).isSatisfied)

  // What they answer is the machine's affair; that they do isn't.
  simulate(importing, download)
  #expect(importing.isFinished && download.isFinished)
}

@Test(arguments: [0, 1, 2])
func `DependencyRule: the outcomes of dependencies in a closure`(failureCount: Int) {
  let publish = AdvancedOperation()
  let parts = (0..<3).map { number in
    ResultOperation(name: "part \(number)") { if number < failureCount { throw Offline() } }
  }
  for part in parts { publish.addDependency(part) }

  publish.addCondition(
    DependencyRule("at most one failed") { outcomes in
      let failures = outcomes.count { $0?.isFailed == true }
      if failures > 1 { return .broken }
      return outcomes.contains { $0 == nil } ? .undecided : .satisfied
    }
  )

  simulate(publish, parts[0], parts[1], parts[2])
  #expect(publish.outcome?.isSuccess == (failureCount < 2))
}

@Test func `CircuitBreaker: errors that count`() {
  struct NotFound: Error {}

  let breaker = CircuitBreaker(failures: 5) { error in !(error is NotFound) }

  for _ in 1...10 {
    let call = ResultOperation(name: "call") { throw NotFound() }
    call.addCondition(CircuitClosed(breaker))
    simulate(call)
  }
  #expect(breaker.state == .closed)
}

@Test func `CircuitBreaker and CircuitClosed: a rest after too many failures`() {
  let calls = (1...8).map { ResultOperation(name: "call \($0)") { throw Offline() } }
  let simulation = SimulatedEnvironment(seed: 1)
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  queue.maxConcurrentOperationCount = 1

  let breaker = CircuitBreaker(failures: 5, cooldown: .seconds(30))
  for call in calls {
    call.addCondition(CircuitClosed(breaker))
  }

  for call in calls {
    queue.addOperation(call)
    simulation.run()
  }
  #expect(breaker.state == .open)
  #expect(
    calls[5].ending
      == "failed\n  condition “circuit closed”: The circuit is open for another 30 s."
  )

  simulation.advance(by: .seconds(30))
  #expect(breaker.state == .halfOpen)
  let call = AdvancedOperation()
  call.addCondition(CircuitClosed(breaker))
  queue.addOperation(call)
  simulation.run()
  #expect(breaker.state == .closed)
}

/// Something that changes, and calls a closure then.
private final class Monitor: Sendable {
  private let handler = Locked<(@Sendable (Bool) -> Void)?>(nil)
  let changes: AsyncStream<Void>
  let continuation: AsyncStream<Void>.Continuation

  init() { (changes, continuation) = AsyncStream.makeStream() }
  func onChange(_ body: @escaping @Sendable (Bool) -> Void) { handler.withLock { $0 = body } }
  func set(_ isOnline: Bool) {
    handler.withLock { $0 }?(isOnline)
    continuation.yield()
  }
}

@Test func `Condition: a gate that a monitor opens`() {
  let simulation = SimulatedEnvironment(seed: 1)
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  let upload = AdvancedOperation()
  let monitor = Monitor()

  let network = Gate("network", isOpen: false)
  upload.addCondition(network)
  monitor.onChange { isOnline in
    if isOnline { network.open() } else { network.close(reason: "offline") }
  }

  queue.addOperation(upload)
  simulation.run()
  #expect(upload.ending == "none")
  monitor.set(true)
  simulation.run()
  #expect(upload.ending == "succeeded")
}

@Test func `Condition: one that waits for a sequence`() {
  let simulation = SimulatedEnvironment(seed: 1)
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  let upload = AdvancedOperation()
  let monitor = Monitor()
  let isOnline = Locked(false)
  let online = BlockCondition("online") { isOnline.withLock { $0 } }

  upload.addCondition(online.waiting(for: monitor.changes, atMost: .seconds(600)))

  queue.addOperation(upload)
  simulation.advance(by: .seconds(60))
  #expect(upload.ending == "none")
  isOnline.withLock { $0 = true }
  monitor.set(true)
  simulation.run()
  #expect(upload.ending == "succeeded")
}

@Test func `Condition: one that waits for a gate that says look again`() {
  let simulation = SimulatedEnvironment(seed: 1)
  let queue = AdvancedOperationQueue(environment: simulation.environment)
  let backup = AdvancedOperation()
  let isOn = Locked(false)
  let isCharging = BlockCondition("charging") { isOn.withLock { $0 } }
  let powerStateDidChange: @Sendable () -> Void

  let power = Gate("power")
  backup.addCondition(isCharging.waiting(for: power))
  powerStateDidChange = { power.lookAgain() }

  queue.addOperation(backup)
  simulation.run()
  #expect(backup.ending == "none")
  isOn.withLock { $0 = true }
  powerStateDidChange()
  simulation.run()
  #expect(backup.ending == "succeeded")
}
