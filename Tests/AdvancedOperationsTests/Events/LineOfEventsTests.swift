import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import TestSupport
import Testing

/// One line of events per operation: nothing overlaps, nothing nests, nothing is lost.
@Suite(.watched) struct `The events of an operation in order` {
  /// What any callback may call: everything.
  private static func callEverything(_ operation: AdvancedOperation, in world: World) {
    let late = Work("late")
    _ = operation.state
    _ = operation.errors
    _ = operation.outcome
    _ = operation.environment
    _ = operation.description
    _ = operation.debugDescription
    _ = operation.isReady
    _ = operation.isExecuting
    _ = operation.isFinished
    _ = operation.dependencies
    operation.name = "renamed"
    operation.queuePriority = .high
    operation.conditionPolicy = .evaluateAll
    operation.updateProgress(completed: 1, total: 1)
    operation.addDependency(late)
    operation.removeDependency(late)
    operation.completionBlock = {}
    operation.addObserver(RecordingObserver()).remove()
    operation.environment = world.simulation.environment
    if operation.state == .executing {
      #expect(throws: Never.self) { try operation.produce(Work()) }
    }
    world.queue.isSuspended = false
    world.queue.maxConcurrentOperationCount = 4
    _ = world.queue.operations
    world.queue.addOperation(Work())
  }

  @Test(arguments: ["enqueued", "started", "produced", "cancelled", "willFinish", "didFinish"])
  func `every method may be called from every callback`(event: String) {
    let world = World()
    let calls = Counter()
    let work = Work("work", policy: .whenFinishIsCalled) { work in
      #expect(throws: Never.self) { try work.produce(Work()) }
    }
    let call: @Sendable (String, AdvancedOperation) -> Void = { name, operation in
      guard name == event, calls.add() == 1 else { return }
      Self.callEverything(operation, in: world)
    }
    let recorder = RecordingObserver()
    work.addObserver(
      BlockObserver(
        didEnqueue: { call("enqueued", $0) },
        didStart: { call("started", $0) },
        didProduce: { operation, _ in call("produced", operation) },
        didCancel: { operation, _ in call("cancelled", operation) },
        willFinish: { operation, _ in call("willFinish", operation) },
        didFinish: { operation, _ in call("didFinish", operation) }
      )
    )
    work.addObserver(recorder)
    world.run(work)
    work.cancel()
    work.finish()
    world.simulation.run()
    #expect(calls.count >= 1)
    #expect(work.state == .finished)
    #expect(recorder.kinds.filter { $0 == .finished }.count == 1)
    #expect(world.queue.operationCount == 0)
  }

  @Test(arguments: seeds)
  func `a call from inside a callback never nests`(seed: UInt64) {
    let world = World(seed: seed)
    let inside = Counter()
    let log = Log<String>()
    let work = Work.open()
    let watched: @Sendable (String, () -> Void) -> Void = { name, body in
      inside.add()
      log.add(name)
      body()
      inside.add(-1)
    }
    work.addObserver(
      BlockObserver(
        didStart: { operation in
          watched("start") {
            operation.updateProgress(completed: 1, total: 2)
            operation.cancel(withError: Flaw(1))
            operation.finish()
          }
        },
        didUpdateProgress: { _, _ in watched("progress") {} },
        didCancel: { _, _ in watched("cancel") {} },
        willFinish: { _, _ in watched("willFinish") {} },
        didFinish: { _, _ in watched("didFinish") {} }
      )
    )
    world.run(work)
    #expect(log.entries == ["start", "progress", "cancel", "willFinish", "didFinish"])
    #expect(inside.peak == 1)
    #expect(work.didExecute)
  }

  @Test(
    arguments: [false, true],
    [AdvancedOperation.CancellationPolicy.finishImmediately, .whenFinishIsCalled]
  )
  func `a cancel in did-start arrives in the body`(
    hasReason: Bool,
    policy: AdvancedOperation.CancellationPolicy
  ) {
    let world = World()
    let recorder = RecordingObserver()
    let found = Log<Bool>()
    let work = Work(policy: policy) { work in
      found.add(work.isCancelled)
      work.finish()
    }
    work.addObserver(recorder)
    work.onStart { operation in
      if hasReason { operation.cancel(withError: Flaw(1)) } else { operation.cancel() }
    }
    world.run(work)
    #expect(found.entries == [true])
    #expect(work.hasStarted)
    #expect(work.kind == .cancelled)
    #expect(work.flawNumbers == (hasReason ? [1] : []))
    #expect(recorder.kinds == [.enqueued, .started, .cancelled, .willFinish, .finished])
  }

  @Test func `a finish in did-start prevents execute`() {
    let world = World()
    let recorder = RecordingObserver()
    let work = Work()
    work.addObserver(recorder)
    work.onStart { $0.finish(withError: Flaw(1)) }
    world.run(work)
    #expect(!work.didExecute)
    #expect(work.kind == .failed)
    #expect(recorder.kinds == [.enqueued, .started, .willFinish, .finished])
  }

  @Test(arguments: [false, true])
  func `an end within didStart is followed by the body only after a cancel`(
    cancels: Bool
  ) {
    let world = World()
    let log = Log<String>()
    let work = Work { work in
      log.add("execute")
      work.finish()
    }
    work.onStart { $0.updateProgress(completed: 1, total: 2) }
    work.addObserver(
      BlockObserver(
        didUpdateProgress: { operation, _ in
          if cancels { operation.cancel() } else { operation.finish() }
        },
        didFinish: { _, _ in log.add("didFinish") }
      )
    )
    world.run(work)
    #expect(log.entries == (cancels ? ["didFinish", "execute"] : ["didFinish"]))
    #expect(work.kind == (cancels ? .cancelled : .succeeded))
  }

  @Test func `didFinish observers have returned before a dependent starts`() async throws {
    let queue = AdvancedOperationQueue()
    for _ in 0..<Effort.rounds(500) {
      let log = Log<String>()
      let first = Work()
      let dependent = Work { work in
        log.add("dependent")
        work.finish()
      }
      dependent.addDependency(first)
      for _ in 0..<3 { first.onFinish { _, _ in log.add("observer") } }
      queue.addOperations([first, dependent])
      try await dependent.untilFinished()
      #expect(log.entries == ["observer", "observer", "observer", "dependent"])
    }
  }

  @Test func `a dependent that an observer cancels never executes`() {
    let world = World()
    let first = Work()
    let dependent = Work()
    dependent.addDependency(first)
    first.onFinish { _, _ in dependent.cancel(withError: Flaw(1)) }
    world.run(first, dependent)
    #expect(dependent.kind == .cancelled)
    #expect(!dependent.didExecute)
  }

  @Test func `the finish hook runs before observers are notified`() {
    final class Hooked: Work, @unchecked Sendable {
      let log = Log<String>()
      override func finished(withErrors errors: [any Error]) { log.add("hook finished") }
      override func cancelled(withErrors errors: [any Error]) { log.add("hook cancelled") }
    }
    let world = World()
    let work = Hooked(policy: .whenFinishIsCalled) { _ in }
    let log = work.log
    work.addObserver(
      BlockObserver(
        didCancel: { _, _ in log.add("cancelled") },
        willFinish: { _, _ in log.add("willFinish") },
        didFinish: { _, _ in log.add("didFinish") }
      )
    )
    world.run(work)
    work.cancel()
    work.finish()
    #expect(
      log.entries == ["cancelled", "hook cancelled", "hook finished", "willFinish", "didFinish"]
    )
  }

  /// Where nobody listens nothing is queued, and whoever comes in the hook must find that it is.
  @Test(arguments: [false, true])
  func `an observer that the finish hook attaches receives the remaining events`(isFirst: Bool) {
    final class Hooked: Work, @unchecked Sendable {
      let recorder = RecordingObserver()
      let log = Log<String>()
      private let isFirst: Bool
      init(isFirst: Bool) {
        self.isFirst = isFirst
        super.init("hooked")
      }
      override func finished(withErrors errors: [any Error]) {
        if isFirst { addObserver(recorder) }
        log.add("hook \(state)")
        #expect(throws: Never.self) { try produce(Work("child")) }
        if !isFirst { addObserver(recorder) }
        onFinish { [log] operation, _ in log.add("didFinish \(operation.state)") }
        log.add("hook ends")
      }
    }
    let world = World()
    let work = Hooked(isFirst: isFirst)
    world.run(work)
    #expect(work.recorder.kinds == (isFirst ? [.produced, .finished] : [.finished]))
    #expect(work.log.entries == ["hook finishing", "hook ends", "didFinish finishing"])
    #expect(work.state == .finished)
    #expect(world.queue.operationCount == 0)
  }

  @Test func `an end without observers is delivered once to a later observer`() {
    let world = World()
    let recorder = RecordingObserver()
    let work = Work()
    work.addObserver(recorder).remove()
    world.run(work)
    work.addObserver(recorder)
    #expect(recorder.kinds == [.finished])
    #expect(work.hooks.entries == ["finished []"])
  }

  /// The sweep begins while the hook runs, and is held up by an observer of somebody else.
  @Test func `a cancel of all operations delivers a pending end once`() async throws {
    final class Hooked: AdvancedOperation, @unchecked Sendable {
      let recorder = RecordingObserver()
      let (inHook, isSwept, hasFinished) = (Latch(), Latch(), Latch())
      override func finished(withErrors errors: [any Error]) {
        addObserver(recorder)
        inHook.open()
        isSwept.pass()
      }
      override func execute() {
        finish()
        hasFinished.open()
      }
    }
    let queue = OperationQueue()
    let goesOn = Latch()
    let (first, work) = (AdvancedOperation(), Hooked())
    first.addDependency(Operation())
    first.onCancel { _, _ in
      work.isSwept.open()
      goesOn.pass()
    }
    queue.addOperations([first, work])
    await work.inHook.opened()
    async let sweep: Void = onThread { queue.cancelAllOperations() }
    await work.hasFinished.opened()
    goesOn.open()
    await sweep
    try await queue.untilAllOperationsAreFinished()
    #expect(work.recorder.kinds == [.finished])
    #expect(work.outcome?.isSuccess == true)
    #expect(first.isCancelled)
  }
}
