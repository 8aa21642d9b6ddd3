import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import TestSupport
import Testing

/// The start of an operation may be told by a thread that was telling an earlier event; that thread
/// runs no body.
@Suite(.watched) struct `A start that another thread delivers` {
  /// An operation whose start is told by a thread that its queue knows nothing of.
  private struct Scene {
    let queue: AdvancedOperationQueue
    let leave = Latch()
    let log: Log<String>
    let work: Work

    /// Returns when the queue has decided to start the operation.
    init(
      policy: AdvancedOperation.CancellationPolicy = .finishImmediately,
      log: Log<String> = Log(),
      body: @escaping @Sendable (Work) -> Void
    ) async {
      let (inEnqueued, started) = (Latch(), Latch())
      let leave = leave
      let work = Work(policy: policy, body: body)
      let slow = BlockObserver(
        didEnqueue: { _ in
          inEnqueued.open()
          leave.pass()
        },
        didStart: { _ in log.add("start") },
        didCancel: { _, _ in log.add("cancel") },
        didFinish: { _, _ in log.add("finish") }
      )
      var environment = OperationEnvironment(claimDomain: ClaimDomain())
      environment.tracer = Tracer { [weak work] operation, state in
        guard operation === work else { return }
        // Between becoming a member and being told of it.
        if state == .pending {
          Threads.launch { operation.addObserver(slow) }
          inEnqueued.pass()
        }
        if state == .executing { started.open() }
      }
      queue = AdvancedOperationQueue(environment: environment)
      queue.maxConcurrentOperationCount = 1
      (self.log, self.work) = (log, work)
      let queue = queue
      Threads.launch { queue.addOperation(work) }
      await started.opened()
    }

    func go() async throws {
      // There is one slot, so this doesn't start before the operation is quiet.
      let next = Work { [log] work in
        log.add("next")
        work.finish()
      }
      queue.addOperation(next)
      leave.open()
      try await next.untilFinished()
    }
  }

  @Test
  func `a start that another thread delivers keeps its slot until the body ends`() async throws {
    for _ in 0..<200 {
      let log = Log<String>()
      let scene = await Scene(log: log) { work in
        work.finish()
        log.add("end of body")
      }
      try await scene.go()
      #expect(log.entries.first == "start")
      #expect(log.entries.last == "next")
      #expect(Set(log.entries) == ["start", "finish", "end of body", "next"])
      #expect(scene.work.kind == .succeeded)
      try await scene.queue.untilAllOperationsAreFinished()
    }
  }

  @Test(arguments: [AdvancedOperation.CancellationPolicy.finishImmediately, .whenFinishIsCalled])
  func `an operation that is cancelled during another thread's delivery never executes`(
    policy: AdvancedOperation.CancellationPolicy
  ) async throws {
    for _ in 0..<Effort.rounds(200) {
      let scene = await Scene(policy: policy) { $0.finish() }
      scene.work.cancel()
      try await scene.go()
      #expect(!scene.work.didExecute)
      #expect(scene.work.kind == .cancelled)
      #expect(scene.log.entries.filter { $0 == "finish" }.count == 1)
      try await scene.queue.untilAllOperationsAreFinished()
    }
  }

  @Test func `a start that another thread delivers runs the body in its queue`() async throws {
    let current = Changing<OperationQueue?>(nil)
    let scene = await Scene { work in
      current.value = OperationQueue.current
      work.finish()
    }
    try await scene.go()
    #expect(current.value === scene.queue)
  }
}
