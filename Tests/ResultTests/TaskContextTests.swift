import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import TestSupport
import Testing

private enum Trace {
  @TaskLocal static var id = "none"
  @TaskLocal static var token: Token?
}

@Suite struct `The task that creates an operation` {
  /// Creates something in a task with a trace, and returns it.
  private static func traced<Made: Sendable>(
    _ id: String = "trace",
    priority: TaskPriority? = nil,
    _ make: @escaping @Sendable () -> Made
  ) async -> Made {
    await Task(priority: priority) { Trace.$id.withValue(id) { make() } }.value
  }

  @Test(.watched)
  func `a body has the task-locals of the task that created its operation`() async throws {
    let work = await Self.traced { ResultOperation { Trace.id } }
    AdvancedOperationQueue().addOperation(work)
    #expect(try await work.value == "trace")
    #expect(Trace.id == "none")
  }

  @Test(.watched)
  func `a body's task-locals are from the creation and not from adding`() async throws {
    let queue = AdvancedOperationQueue()
    let first = await Self.traced("first") { ResultOperation { Trace.id } }
    let second = await Self.traced("second") { first.then { "\($0), \(Trace.id)" } }
    let third = await Self.traced("third") {
      ResultOperation(after: first, second) { "\($0); \($1); \(Trace.id)" }
    }
    await Self.traced("other") { queue.addOperations([third, second, first]) }
    #expect(try await third.value == "first; first, second; third")
  }

  @Test(.watched)
  func `a body has the priority of the task that created its operation`() async throws {
    let queue = AdvancedOperationQueue()
    for priority in [TaskPriority.high, .low] {
      let work = await Self.traced(priority: priority) { ResultOperation { Task.currentPriority } }
      queue.addOperation(work)
      try await queue.untilAllOperationsAreFinished()
      #expect(try work.result?.get() == priority)
    }
  }

  @Test(.watched)
  func `attempts and rounds have the task-locals of the creating task`() async throws {
    let queue = AdvancedOperationQueue()
    let ids = Log<String>()
    let all = await Self.traced { () -> [AdvancedOperation] in
      let policy = RetryPolicy.immediate.attempts(2).attemptTimeout(.seconds(60))
      return [
        ResultOperation(retry: policy) {
          ids.add("body \(Trace.id)")
          throw Flaw(1)
        },
        RetryOperation(retry: policy) { _ in
          ids.add("make \(Trace.id)")
          return ResultOperation {
            ids.add("attempt \(Trace.id)")
            throw Flaw(1)
          }
        },
        RepeatOperation(times: 2) { _ in ResultOperation { ids.add("round \(Trace.id)") } },
      ]
    }
    for operation in all {
      queue.addOperation(operation)
      try await operation.untilFinished()
    }
    #expect(
      ids.entries == [
        "body trace", "body trace", "make trace", "attempt trace", "make trace", "attempt trace",
        "round trace", "round trace",
      ]
    )
  }

  @Test(
    .watched,
    arguments: [
      AdvancedOperation.ConditionPolicy.evaluateAll, .stopAtFirstFailure,
    ]
  )
  func `conditions and bodies have the task-locals of the creating task`(
    policy: AdvancedOperation.ConditionPolicy
  ) async throws {
    let queue = AdvancedOperationQueue()
    let ids = Log<String>()
    let all = await Self.traced(priority: .low) { () -> [AdvancedOperation] in
      let all = [
        ResultOperation { ids.add("body \(Trace.id) \(Task.currentPriority == .low)") },
        RetryOperation(retry: .immediate.attempts(1)) { _ in
          ids.add("body \(Trace.id) \(Task.currentPriority == .low)")
          return Work()
        },
        RepeatOperation(times: 1) { _ in
          ids.add("body \(Trace.id) \(Task.currentPriority == .low)")
          return Work()
        },
      ]
      for operation in all {
        operation.conditionPolicy = policy
        for _ in 0..<2 {
          operation.addCondition(
            BlockCondition {
              ids.add("condition \(Trace.id) \(Task.currentPriority == .low)")
              return true
            }
          )
        }
      }
      return all
    }
    for operation in all {
      await Self.traced("other") { queue.addOperation(operation) }
      try await operation.untilFinished()
      #expect(operation.kind == .succeeded)
    }
    let expected = ["condition trace true", "condition trace true", "body trace true"]
    #expect(ids.entries == expected + expected + expected)
  }

  @Test(.watched) func `conditions see their own operation instead of the creating one`()
    async throws
  {
    let queue = AdvancedOperationQueue()
    let seen = Log<String>()
    let outer = await Self.traced {
      ResultOperation {
        let inner = ResultOperation(name: "inner") {}
        inner.addCondition(
          BlockCondition {
            seen.add("\(Trace.id) \(AdvancedOperation.current?.name ?? "none")")
            return OperationQueue.current === queue
          }
        )
        queue.addOperation(inner)
        try await inner.value
      }
    }
    queue.addOperation(outer)
    try await outer.value
    #expect(seen.entries == ["trace inner"])
  }

  @Test(.watched)
  func `a cancel reaches conditions with task-locals and prevents the body`() async throws {
    let (asked, ended) = (Latch(), Latch())
    let work = await Self.traced {
      let work = ResultOperation { Issue.record("it ran") }
      work.addCondition(
        BlockCondition {
          asked.open()
          while !Task.isCancelled { await Task.yield() }
          ended.open()
          return true
        }
      )
      return work
    }
    AdvancedOperationQueue().addOperation(work)
    await asked.opened()
    work.cancel()
    try await work.untilFinished()
    await ended.opened()
    #expect(work.kind == .cancelled)
  }

  private enum End: CaseIterable {
    case succeeded, cancelled, refused, refusedAtOnce, neverAdded
  }

  @Test(.watched, arguments: End.allCases)
  private func `an operation with conditions releases the task-locals at its end`(
    end: End
  ) async throws {
    let live = LiveCount()
    func run() async throws {
      let work = await Self.traced {
        // What a task has as a task-local lives as long as the task.
        Trace.$token.withValue(live.token()) {
          let work = ResultOperation {}
          work.conditionPolicy = .stopAtFirstFailure
          if end == .refusedAtOnce {
            work.addCondition(Immediate("no", always: .failed(Flaw(1))))
          }
          work.addCondition(BlockCondition { end != .refused })
          return work
        }
      }
      if end == .neverAdded { return }
      AdvancedOperationQueue().addOperation(work)
      if end == .cancelled { work.cancel() }
      try await work.untilFinished()
      // The cancel may have come too late.
      if end != .cancelled { #expect(work.outcome?.isSuccess == (end == .succeeded)) }
    }
    try await run()
    await live.none()
  }

  @Test(.watched, arguments: seeds)
  func `an operation that is cancelled at any time releases the task-locals`(seed: UInt64) async {
    let live = LiveCount()
    func run() async {
      let world = World(seed: seed)
      let work = await Self.traced {
        Trace.$token.withValue(live.token()) {
          let work = ResultOperation { await Task.yield() }
          work.addCondition(BlockCondition { true })
          return work
        }
      }
      world.simulation.addStep("cancel") { work.cancel() }
      world.run(work)
      #expect(work.isFinished)
    }
    await run()
    await live.none()
  }

  @Test(.watched) func `a body has no task-locals if no task created its operation`() async throws {
    let queue = AdvancedOperationQueue()
    let work = await onThread { ResultOperation { Trace.id } }
    await Self.traced { queue.addOperation(work) }
    #expect(try await work.value == "none")
  }

  @Test(.watched) func `cancelling the creating task doesn't cancel the body`()
    async throws
  {
    let queue = AdvancedOperationQueue()
    let creator = Task { () -> ResultOperation<Bool> in
      unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
      return ResultOperation { Task.isCancelled }
    }
    let work = await creator.value
    queue.addOperation(work)
    #expect(try await work.value == false)

    let started = Latch()
    let open = await Self.traced {
      ResultOperation {
        started.open()
        while !Task.isCancelled { await Task.yield() }
        throw Flaw(1)
      }
    }
    queue.addOperation(open)
    await started.opened()
    open.cancel()
    try await open.untilFinished()
    #expect(open.kind == .cancelled)
    #expect(open.flawNumbers == [1])
  }

  @Test(arguments: seeds)
  func `a body in a simulation is simulated and has the task-locals`(seed: UInt64) async throws {
    func log() async -> (String, String?) {
      let world = World(seed: seed)
      let clock = world.simulation.environment.clock
      let work = await Self.traced {
        ResultOperation(name: "work") {
          try await clock.sleep(until: .seconds(60))
          await Task.yield()
          return "\(Trace.id) \(clock.now)"
        }
      }
      world.run(work)
      return (world.simulation.log, try? work.result?.get())
    }
    let (first, value) = await log()
    #expect(value == "trace 60.0 seconds")
    #expect(await log().0 == first, "byte for byte")
  }

  @Test(.watched) func `an operation that never runs releases the task-locals`() async throws {
    let live = LiveCount()
    await Self.traced {
      let token = live.token()
      Trace.$id.withValue("unused") {
        _ = ResultOperation { token.touch() }
        _ = RetryOperation(retry: .immediate.attempts(1)) { _ in
          token.touch()
          return Work()
        }
        _ = RepeatOperation(times: 1) { _ in
          token.touch()
          return Work()
        }
      }
    }
    let cancelled = await Self.traced {
      let token = live.token()
      return ResultOperation { token.touch() }
    }
    cancelled.cancel()
    AdvancedOperationQueue().addOperation(cancelled)
    try await cancelled.untilFinished()
    await live.none()
  }

  @Test(.watched) func `a body sees its own queue instead of the creator's`() async throws {
    let queue = AdvancedOperationQueue()
    let other = OperationQueue()
    let inner = Changing<ResultOperation<Bool>?>(nil)
    let made = Latch()
    other.addOperation {
      inner.value = ResultOperation { OperationQueue.current === queue }
      made.open()
    }
    await made.opened()
    if let inner = inner.value { queue.addOperation(inner) }
    #expect(try await inner.value?.value == true)
  }
}
