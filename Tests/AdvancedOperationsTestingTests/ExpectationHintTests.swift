import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import Testing

private struct Offline: Error, Equatable, CustomStringConvertible {
  var description: String { "Offline." }
}

private struct Step: Error, Equatable, CustomStringConvertible {
  let name: String
  init(_ name: String) { self.name = name }
  var description: String { "\(name) broke." }
}

/// Looks like ``Offline``.
private struct Disguised: Error, Equatable, CustomStringConvertible {
  var description: String { "Offline." }
}

private final class Forgetful: AdvancedOperation, @unchecked Sendable {
  override func execute() {}
}

@Suite struct `Hints of failed expectations` {
  private let simulation = SimulatedEnvironment(seed: 7)
  private let queue: AdvancedOperationQueue

  init() { queue = AdvancedOperationQueue(environment: simulation.environment) }

  /// What an expectation throws; empty when it is met.
  private func text(_ body: () throws -> Void) -> String {
    do {
      try body()
      return ""
    } catch {
      return (error as? ExpectationFailure)?.description ?? "another error: \(error)"
    }
  }

  @Test func `a hint says that finish wasn't called`() {
    let forgetful = Forgetful()
    forgetful.name = "a"
    queue.addOperation(forgetful)
    simulation.run()
    let text = text { try expectOutcome(of: forgetful, is: .succeeded) }
    #expect(text.contains("waits for finish() to be called"), "\(text)")
    #expect(!text.contains("Task.sleep"), "\(text)")
    #expect(simulation.strays.first?.description.contains("finish()") == true)
  }

  @Test func `a hint says that a held operation wasn't released`() {
    let held = HeldOperation(name: "a")
    queue.addOperation(held)
    simulation.run()
    let text = text { try expectOutcome(of: held, is: .succeeded) }
    #expect(text.contains("waits for release() to be called"), "\(text)")
    #expect(text.contains("needed: release() has to be called on a"), "\(text)")
    #expect(!text.contains("finish()"), "\(text)")
  }

  @Test func `a hint names a queue outside of the simulation`() {
    let other = OperationQueue()
    other.name = "real"
    other.isSuspended = true
    let outside = ResultOperation(name: "outside") { 1 }
    other.addOperation(outside)
    let dependent = AdvancedOperation()
    dependent.name = "dependent"
    dependent.addDependency(outside)
    let awaiting = ResultOperation(name: "awaiting") { try await outside.value }
    queue.addOperations([dependent, awaiting])
    simulation.run()
    for operation in [dependent, awaiting] {
      let text = text { try expectOutcome(of: operation, is: .succeeded) }
      #expect(text.contains("“outside” is in queue “real”, which isn't in this simul"), "\(text)")
      #expect(text.contains("AdvancedOperationQueue(environment:"), "\(text)")
    }
    let text = text { try simulation.run { _ = try await outside.value } }
    #expect(text.contains("“outside” is in queue “real”"), "\(text)")
    other.cancelAllOperations()
    other.isSuspended = false
  }

  @Test func `a hint says that an operation isn't in a queue`() {
    let forgotten = ResultOperation(name: "forgotten") { 1 }
    let text1 = text { try simulation.run { _ = try await forgotten.value } }
    #expect(text1.contains("It waits for “forgotten”"), "\(text1)")
    #expect(text1.contains("forgotten isn't in a queue"), "\(text1)")
    let awaiting = ResultOperation(name: "awaiting") { try await forgotten.value }
    queue.addOperation(awaiting)
    simulation.run()
    let text2 = text { try expectOutcome(of: awaiting, is: .succeeded) }
    #expect(text2.contains("forgotten isn't in a queue"), "\(text2)")
    #expect(!text2.contains("Task.sleep"), "\(text2)")
    awaiting.cancel()
    simulation.run()
  }

  @Test func `a hint doesn't blame real sleep after a timeout`() {
    let sleeper = ResultOperation(name: "sleeper") {
      try await Task.sleep(for: .seconds(86_400))
    }
    let right = ResultOperation(name: "right") {
      try await OperationClock.current.sleep(until: .seconds(86_400))
    }
    for operation in [sleeper, right] { operation.addObserver(TimeoutObserver(.seconds(30))) }
    queue.addOperations([sleeper, right])
    simulation.run()
    // The cancelled sleep comes back to the simulation from a thread that it doesn't know.
    while sleeper.outcome == nil { simulation.run() }
    let text1 = text { try expectOutcome(of: sleeper, is: .succeeded) }
    #expect(text1.contains("With Task.sleep they sleep in real time"), "\(text1)")
    let text2 = text { try expectOutcome(of: right, is: .succeeded) }
    #expect(text2.contains("The time limit of") && !text2.contains("Task.sleep"), "\(text2)")
  }

  @Test func `a value expectation reports the value or the outcome instead`() throws {
    let value = ResultOperation(name: "value") { 3 }
    let failing = ResultOperation<Int>(name: "failing") { throw Offline() }
    queue.addOperations([value, failing])
    let early = text { try expectValue(of: value) }
    #expect(early.contains("“value” is ready, and should have a value"), "\(early)")
    #expect(early.contains("call run()") && early.hasSuffix("(seed 7)"), "\(early)")
    simulation.run()
    #expect(try expectValue(of: value) == 3)
    let late = text { try expectValue(of: failing) }
    #expect(late.contains("“failing” should have a value, but: failed"), "\(late)")
  }

  @Test func `a hint says that the simulation wasn't run`() throws {
    let recorder = RecordingObserver()
    let operation = ResultOperation(name: "a") {}
    operation.addObserver(recorder)
    func events() -> String {
      text { try expectEvents(of: recorder, are: [.enqueued, .finished]) }
    }
    #expect(events().contains("Attach the observer before"), "\(events())")
    #expect(text { try expectNoStrays(in: simulation) }.contains("Nothing has run"))
    queue.addOperation(operation)
    #expect(events().contains("call run()") && events().contains("(seed 7)"), "\(events())")
    #expect(text { try expectNoStrays(in: simulation) }.contains("call run()"))
    simulation.run()
    #expect(!events().isEmpty && !events().contains("call run()"), "\(events())")
    try expectNoStrays(in: simulation)
  }

  @Test func `a hint says that an operation isn't in a simulation`() {
    let recorder = RecordingObserver()
    let operation = AdvancedOperation()
    operation.addObserver(recorder)
    let other = AdvancedOperationQueue()
    other.isSuspended = true
    other.addOperation(operation)
    let text = text { try expectEvents(of: recorder, are: [.finished]) }
    #expect(text.contains("isn't in a simulation"), "\(text)")
    operation.cancel()
    other.isSuspended = false
  }

  @Test func `an expectation reports the type of an error`() {
    let operation = AdvancedOperation()
    operation.name = "a"
    operation.addCondition(BlockCondition("net") { throw Offline() })
    queue.addOperation(operation)
    simulation.run()
    #expect(
      text { try expectConditionFailure(of: operation, is: Step("x"), condition: "net") }
        .contains(
          "should have failed with “x broke.” (Step), but found: “Offline.” (Offline) (seed 7)"
        )
    )
    #expect(
      text { try expectConditionFailure(of: operation, is: Disguised()) }
        .contains("with “Offline.” (Disguised), but found: “Offline.” (Offline)")
    )
  }

  /// An operation that has left the simulation, and has nothing to do with others.
  private func addBystander() -> ResultOperation<Void> {
    let bystander = ResultOperation(name: "bystander") { try await Task.sleep(for: .seconds(1000)) }
    queue.addOperation(bystander)
    return bystander
  }

  @Test func `a hint names the operation's own obstacle although another left the simulation`() {
    let bystander = addBystander()
    let held = HeldOperation(name: "held")
    held.addClaim(MutuallyExclusive("place"))
    let waiter = AdvancedOperation()
    waiter.name = "waiter"
    waiter.addClaim(MutuallyExclusive("place"))
    let checked = AdvancedOperation()
    checked.name = "checked"
    checked.addCondition(ConditionProbe(name: "network"))
    queue.addOperations([held, waiter, checked])
    simulation.run()
    let texts = [
      text { try expectOutcome(of: held, is: .succeeded) },
      text { try expectOutcome(of: waiter, is: .succeeded) },
      text { try expectConditionFailure(of: waiter, as: Offline.self) },
      text { try expectOutcome(of: checked, is: .succeeded) },
    ]
    #expect(texts[0].contains("needed: release() has to be called on held"), "\(texts[0])")
    for text in texts[1...2] {
      #expect(text.contains("waiter waits for “place”, which held holds"), "\(text)")
    }
    #expect(texts[3].contains("“network”"), "\(texts[3])")
    for text in texts { #expect(!text.contains("bystander"), "\(text)") }
    queue.cancelAllOperations()
    while !bystander.isFinished { simulation.run() }
  }

  @Test func `a hint explains what awaited code waits for`() {
    let bystander = addBystander()
    let probed = ResultOperation(name: "probed") { 1 }
    probed.addCondition(ConditionProbe(name: "network"))
    queue.addOperation(probed)
    let text1 = text { try simulation.run { _ = try await probed.value } }
    #expect(text1.contains("It waits for “probed”") && text1.contains("“network”"), "\(text1)")
    #expect(!text1.contains("bystander"), "\(text1)")
    let text2 = text { try simulation.run { _ = try await bystander.value } }
    #expect(text2.contains("“bystander” is executing and has no pending step"), "\(text2)")
    queue.cancelAllOperations()
    while !bystander.isFinished { simulation.run() }
  }

  @Test func `a hint names the operation that has left the simulation`() {
    let bystander = addBystander()
    let next = bystander.then(name: "next") {}
    queue.addOperation(next)
    simulation.run()
    let text = text { try expectOutcome(of: next, is: .succeeded) }
    #expect(text.contains("next waits for bystander"), "\(text)")
    #expect(text.contains("“bystander” is executing and has no pending step"), "\(text)")
    queue.cancelAllOperations()
    while !bystander.isFinished { simulation.run() }
  }

  @Test func `an event expectation without events says that nothing was added`() {
    let recorder = RecordingObserver()
    let text = text { try expectEvents(of: recorder, are: [.finished]) }
    #expect(text.contains("the operation wasn't added to a queue or started"), "\(text)")
  }

  @Test func `a hint names a fault that no operation met`() throws {
    let operation = ResultOperation(name: "download") { 1 }
    try simulation.inject(.error(Offline()), into: "donwload", at: .executing)
    try simulation.inject(.delay(.seconds(1)), into: "download", at: .executing)
    queue.addOperation(operation)
    try simulation.inject(.delay(.seconds(1)), into: "download", at: .pending)
    simulation.run()
    let missed = "the fault into “donwload” at executing, the fault into “download” at pending"
    #expect(text { try expectFaultsHappened(in: simulation) }.contains(missed))
    #expect(text { try expectOutcome(of: operation, is: .failed) }.contains(missed))
    let other = SimulatedEnvironment(seed: 1)
    try expectFaultsHappened(in: other)
  }
}
