import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import Testing

/// A server on which an upload is begun and completed, or deleted.
private final class Server: Sendable {
  private let open = Locked(0)
  var orphanCount: Int { open.withLock { $0 } }
  func begin() { open.withLock { $0 += 1 } }
  func close() { open.withLock { $0 -= 1 } }
}

private struct Orphan: Error {}
private struct Flaw: Error {}

/// What an exploration of the upload needs.
private struct Upload: Sendable {
  let simulation: SimulatedEnvironment
  let server = Server()
  let queue: AdvancedOperationQueue
  let operation: ResultOperation<Void>

  /// - Parameters:
  ///   - simulation: The simulation.
  ///   - deletes: Whether the body deletes an upload that it can't complete.
  init(in simulation: SimulatedEnvironment, deletes: Bool = false) {
    self.simulation = simulation
    let clock = simulation.environment.clock
    let server = server
    operation = ResultOperation(name: "upload") {
      try await clock.sleep(for: .seconds(1))
      try Task.checkCancellation()
      server.begin()
      do {
        try await clock.sleep(for: .seconds(1))
      } catch {
        if deletes { server.close() }
        throw error
      }
      server.close()
    }
    queue = AdvancedOperationQueue(environment: simulation.environment)
    queue.name = "transfers"
    let pack = ResultOperation(name: "pack") { try await clock.sleep(for: .seconds(1)) }
    operation.addDependency(pack)
    queue.addOperations([pack, operation])
  }

  func check() throws { if server.orphanCount > 0 { throw Orphan() } }

  /// The number of steps without an interruption.
  static func stepCount(seed: UInt64) -> Int {
    let simulation = SimulatedEnvironment(seed: seed)
    _ = Self(in: simulation)
    var count = 0
    while simulation.step() { count += 1 }
    return count
  }
}

@Suite struct `Exploring interruptions` {
  @Test
  func `exploring interruptions finds the moment at which a cancel leaves an orphan`() throws {
    let thrown = #expect(throws: ExpectationFailure.self) {
      try exploreInterruptions(seed: 4) { simulation in
        Upload(in: simulation)
      } interrupt: { upload in
        upload.operation.cancel()
      } check: { upload in
        try upload.check()
      }
    }
    let failure = try #require(thrown)
    #expect(failure.underlying is Orphan)
    #expect(failure.seed == 4)
    #expect(failure.message.contains("was interrupted at 2 s, after step "), "\(failure.message)")
    #expect(failure.message.contains("The check threw: Orphan()\n"), "\(failure.message)")

    // Each moment alone: the advice of the failure names the only one that fails.
    var failing: [Int] = []
    for count in 0...Upload.stepCount(seed: 4) {
      do {
        try exploreInterruptions(replayingStep: count, seed: 4) { simulation in
          Upload(in: simulation)
        } interrupt: { upload in
          upload.operation.cancel()
        } check: { upload in
          try upload.check()
        }
      } catch let failure as ExpectationFailure {
        #expect(failure.underlying is Orphan)
        failing.append(count)
      }
    }
    #expect(failing.count == 1)
    let advice =
      "with exploreInterruptions(replayingStep: \(failing.first ?? -1), seed: 4) and the same"
    #expect(failure.message.contains(advice), "\(failure.message)")

    // The steps that the message names, without the exploration.
    let simulation = SimulatedEnvironment(seed: 4)
    let upload = Upload(in: simulation)
    for _ in 0..<(failing.first ?? 0) { simulation.step() }
    upload.operation.cancel()
    simulation.run()
    #expect(upload.server.orphanCount == 1)
  }

  @Test func `exploring interruptions finds nothing if the body cleans up`() throws {
    let report = try exploreInterruptions { simulation in
      Upload(in: simulation, deletes: true)
    } interrupt: { upload in
      upload.operation.cancel()
    } check: { upload in
      try upload.check()
    }
    let count = (1...3).map { Upload.stepCount(seed: $0) + 1 }.reduce(0, +)
    #expect(report.interruptionCount == count && report.scheduleCount == 3)
    #expect(report.isComplete)
    #expect("\(report)" == "\(count) interruptions in 3 schedules, one at each moment")
  }

  @Test func `exploring interruptions covers each moment of a seed once`()
    throws
  {
    var moments: [Int] = []
    var ends: [Bool] = []
    let report = try exploreInterruptions(randomSchedules: 1, seed: 9) { simulation in
      Upload(in: simulation, deletes: true)
    } interrupt: { upload in
      moments.append(upload.simulation.log.components(of: "] step: ").count - 1)
      ends.append(upload.queue.operationCount == 0)
      upload.operation.cancel()
    } check: { _ in
    }
    let stepCount = Upload.stepCount(seed: 9)
    #expect(moments == Array(0...stepCount))
    #expect(report.interruptionCount == stepCount + 1)
    #expect(ends.first == false && ends.last == true)
  }

  @Test func `exploring interruptions interrupts at each second of a chain of sleeps`() throws {
    var seconds: Set<Duration> = []
    let begin = ContinuousClock.now
    let report = try exploreInterruptions(randomSchedules: 1) { simulation in
      let group = chainOfEightSleeps(by: simulation.environment.clock)
      AdvancedOperationQueue(environment: simulation.environment).addOperation(group)
      return (simulation, group)
    } interrupt: { simulation, group in
      seconds.insert(simulation.now)
      group.cancel()
    } check: { _, group in
      #expect(group.isFinished)
    }
    print("a chain of eight sleeps: \(report) in \(begin.duration(to: .now))")
    #expect(seconds == Set((0...8).map { .seconds($0) }))
  }

  @Test func `exploring interruptions uses the requested number of seeds`() throws {
    var seeds: Set<UInt64> = []
    try exploreInterruptions(randomSchedules: 4, seed: 7) { simulation in
      seeds.insert(simulation.seed)
      return Upload(in: simulation, deletes: true)
    } interrupt: { upload in
      upload.operation.cancel()
    } check: { _ in
    }
    #expect(seeds == [7, 8, 9, 10])
  }

  @Test func `an interruption may run async code and the check may resume`() throws {
    let report = try exploreInterruptions(randomSchedules: 1) { simulation in
      Upload(in: simulation, deletes: true)
    } interrupt: { upload in
      let queue = upload.queue
      try upload.simulation.run {
        await Task.yield()
        queue.isSuspended = true
      }
    } check: { upload in
      upload.queue.isSuspended = false
      upload.simulation.run()
      try expectOutcome(of: upload.operation, is: .succeeded)
      try upload.check()
    }
    #expect(report.interruptionCount > 5)
  }

  @Test func `exploring interruptions ends an endless workflow after the given steps`()
    throws
  {
    // Those of runs that were left in the middle would stay in memory.
    weak var unfinished: Operation?
    var builtCount = 0
    let report = try exploreInterruptions(randomSchedules: 2, upToStep: 30) { simulation in
      let poll = RepeatOperation(name: "poll", every: .seconds(60)) { _ in
        AdvancedOperation()
      }
      builtCount += 1
      // The first run of a seed is the one without an interruption before the limit.
      if builtCount == 1 { unfinished = poll }
      AdvancedOperationQueue(environment: simulation.environment).addOperation(poll)
      return poll
    } interrupt: { poll in
      poll.cancel()
    } check: { poll in
      try expectOutcome(of: poll, is: .cancelled)
    }
    #expect(report.interruptionCount == 2 * 31 && builtCount == 2 * 31)
    #expect(report.scheduleCount == 2 && !report.isComplete)
    #expect(
      "\(report)"
        == "62 interruptions in 2 schedules, and there are later moments: to try more, pass a larger "
        + "upToStep:"
    )
    #expect(unfinished == nil)
  }

  @Test func `exploring interruptions accepts operations that wait for the test`() throws {
    try exploreInterruptions { simulation in
      let queue = AdvancedOperationQueue(environment: simulation.environment)
      let held = HeldOperation(name: "held")
      let probed = AdvancedOperation()
      probed.addCondition(ConditionProbe())
      let last = AdvancedOperation()
      last.addDependency(held)
      queue.addOperations([held, probed, last])
      return queue
    } interrupt: { queue in
      queue.isSuspended = true
    } check: { queue in
      #expect(queue.operationCount == 3)
    }
  }
}

@Suite struct `Exploring interruptions fails` {
  private static func failure<Context>(
    steps: Int? = nil,
    _ build: (SimulatedEnvironment) throws -> Context,
    interrupt: (Context) throws -> Void = { _ in },
    check: (Context) throws -> Void = { _ in }
  ) throws -> ExpectationFailure {
    do {
      try exploreInterruptions(
        randomSchedules: 2,
        upToStep: steps,
        seed: 5,
        of: build,
        interrupt: interrupt,
        check: check
      )
    } catch let failure as ExpectationFailure {
      #expect(failure.seed == 5)
      #expect(failure.fileID.hasSuffix("InterruptionTests.swift"))
      return failure
    }
    throw Flaw()
  }

  private static func run(_ simulation: SimulatedEnvironment, _ operations: Operation...) {
    let queue = AdvancedOperationQueue(environment: simulation.environment)
    queue.name = "work"
    queue.addOperations(operations)
  }

  private static func check(after count: Int) throws -> String {
    var number = 0
    return try failure { simulation in
      number = 0
      run(simulation, ResultOperation(name: "a") {}, ResultOperation(name: "b") {})
      return simulation
    } interrupt: { simulation in
      number = simulation.log.components(of: "] step: ").count - 1
    } check: { _ in
      if number == count { throw Flaw() }
    }.message
  }

  @Test func `a failure names the steps before and after the interruption`() throws {
    let first = try Self.check(after: 0)
    #expect(
      first.hasPrefix(
        "The workflow was interrupted before its first step, “worker of work”.\nThe check threw: "
          + "Flaw()\nInterrupt it only there with exploreInterruptions(replayingStep: 0, seed: 5) and the "
      ),
      "\(first)"
    )
    let second = try Self.check(after: 1)
    let pattern = #/ at 0 ns, after step 1, “worker of work”, and before “[^”]+”\.\nThe check/#
    #expect(second.contains(pattern), "\(second)")
    #expect(second.contains("SimulatedEnvironment(seed: 5), call step() once, int"), "\(second)")

    let simulation = SimulatedEnvironment(seed: 5)
    Self.run(simulation, ResultOperation(name: "a") {}, ResultOperation(name: "b") {})
    var count = 0
    while simulation.step() { count += 1 }
    let last = try Self.check(after: count)
    #expect(last.contains(" at 0 ns, after its last step, number \(count), “"), "\(last)")
    #expect(!last.contains("and before"), "\(last)")
  }

  @Test func `exploring interruptions reports the error of each closure`() throws {
    let built = try Self.failure { _ -> Int in throw Flaw() }
    #expect(built.underlying is Flaw)
    #expect(built.message == "The closure that builds the workflow threw: Flaw()")
    let interrupted = try Self.failure { simulation in
      Self.run(simulation, AdvancedOperation())
    } interrupt: { _ in
      throw Flaw()
    }
    #expect(interrupted.underlying is Flaw)
    #expect(interrupted.message.contains("“worker of work”.\nThe interruption threw: Flaw()\n"))
  }

  @Test func `exploring interruptions fails if the closure runs the simulation`() throws {
    let message = try Self.failure { simulation in
      Self.run(simulation, AdvancedOperation())
      simulation.step()
    }.message
    let sentence = "the closure ran the simulation, with step(). Remove the call: the closure"
    #expect(message.contains(sentence), "\(message)")
    #expect(message.hasSuffix("it can interrupt the workflow after each of them."), "\(message)")
  }

  @Test func `exploring interruptions fails if nothing happens in the simulation`() throws {
    let message = try Self.failure { _ in }.message
    #expect(message.hasPrefix("The workflow ran without an interruption.\nNo step was taken: "))
  }

  @Test func `exploring interruptions fails if the workflow changes between runs`() throws {
    let number = Locked(0)
    let message = try Self.failure { simulation in
      let name = number.withLock { number in
        number += 1
        return "work \(number)"
      }
      Self.run(simulation, ResultOperation(name: name) {})
    }.message
    #expect(message.hasPrefix("The workflow is not deterministic: with the same choices, "))
  }

  @Test func `exploring interruptions fails if the workflow doesn't end`() throws {
    let message = try Self.failure { simulation in
      let clock = simulation.environment.clock
      Self.run(
        simulation,
        ResultOperation { while true { try await clock.sleep(for: .seconds(1)) } }
      )
    }.message
    #expect(message.contains("It hasn't ended after 2000 steps"), "\(message)")
    #expect(message.contains("Pass upToStep: for the last step to explore."))
  }

  @Test func `exploring interruptions fails if an operation waits for another forever`() throws {
    // The last operation is added by the first, unless that is cancelled before it starts.
    let failure = try Self.failure { simulation in
      let queue = AdvancedOperationQueue(environment: simulation.environment)
      let middle = ResultOperation(name: "middle") {}
      let first = ResultOperation(name: "first") { queue.addOperation(middle) }
      let last = ResultOperation(name: "last") {}
      last.addDependency(middle)
      queue.addOperations([first, last])
      return first
    } interrupt: { first in
      first.cancel()
    }
    #expect(failure.underlying == nil)
    #expect(
      failure.message.contains("an operation has not finished:\nlast waits for middle"),
      "\(failure.message)"
    )
  }

  @Test func `exploring interruptions fails if a body is never resumed`() throws {
    let failure = try Self.failure { simulation in
      let clock = simulation.environment.clock
      let wait = AsyncWait()
      let body = ResultOperation(name: "body") {
        try await clock.sleep(for: .seconds(1))
        wait.finish()
      }
      let other = ResultOperation(name: "other") {
        try await wait.run { _ in
          true
        } unregister: { _ in
        }
      }
      Self.run(simulation, body, other)
      return body
    } interrupt: { body in
      body.cancel()
    }
    #expect(failure.message.contains("“other” is executing and has no pending step"))
  }

  @Test func `exploring interruptions fails if the check leaves steps`() throws {
    let failure = try Self.failure { simulation in
      Self.run(simulation, AdvancedOperation())
      return simulation
    } check: { (simulation: SimulatedEnvironment) in
      simulation.addStep("later") {}
    }
    let sentence = "They were added after the last run()"
    #expect(failure.message.contains(sentence), "\(failure.message)")
  }

  @Test func `replaying an interruption fails if the workflow has fewer steps`() throws {
    var interruptionCount = 0
    let thrown = #expect(throws: ExpectationFailure.self) {
      try exploreInterruptions(replayingStep: 1_000, seed: 2) { simulation in
        Self.run(simulation, AdvancedOperation())
      } interrupt: { _ in
        interruptionCount += 1
      } check: { _ in
      }
    }
    #expect(interruptionCount == 0)
    let message = try #require(thrown).message
    let sentence = "The workflow should be interrupted after 1000 steps, but it has only "
    #expect(message.hasPrefix(sentence), "\(message)")
  }
}

extension String {
  /// The parts between the occurrences of a separator.
  fileprivate func components(of separator: String) -> [Substring] { split(separator: separator) }
}
