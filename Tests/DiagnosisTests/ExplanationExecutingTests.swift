import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedOperationsVisualization
import AdvancedTestSupport
import CoreOperations
import Testing

@Suite(.watched) struct `Why isn't it finished` {
  @Test func `the explanation says that execute returned and finish wasn't called`() {
    let world = World()
    let forgotten = Work.open("forgotten")
    let after = Work("after")
    after.addDependency(forgotten)
    world.queue.addObserver(TimelineRecorder())
    world.queue.addOperations([forgotten, after])
    world.simulation.advance(by: .seconds(90))
    #expect(
      text(after) == """
        after waits for forgotten
          forgotten has returned from execute(), and waits for finish() to be called for 1 min 30 s
        needed: finish() has to be called on forgotten
        """
    )
    forgotten.finish()
    world.simulation.run()
  }

  @Test func `the explanation says that a custom operation doesn't report its end`() {
    final class Silent: Operation, @unchecked Sendable {
      let over = Locked(false)
      override var isAsynchronous: Bool { true }
      override var isFinished: Bool { over.withLock { $0 } }
      override func start() { over.withLock { $0 = true } }
    }
    let queue = OperationQueue()
    let silent = Silent()
    silent.name = "silent"
    let after = BlockOperation {}
    after.name = "after"
    after.addDependency(silent)
    silent.start()
    queue.addOperation(after)
    #expect(after.debugDescription == "after (waiting): waits for silent")
    #expect(after.explain().rootCauses.map(\.kind) == [.finishNotCalled])
    #expect(
      after.explain().description == """
        after waits for silent
          silent returns true from isFinished, but hasn't reported the change
        needed: silent has to call willChangeValue and didChangeValue for “isFinished”
        """
    )
    #expect(
      silent.explain().description == """
        silent returns true from isFinished, but hasn't reported the change
        needed: silent has to call willChangeValue and didChangeValue for “isFinished”
        """
    )
    let texts = "\(queue.explain())".split(separator: "\n")
    #expect(
      texts
        == """
        queue “OperationQueue”: 1 operation, 0 executing
          silent returns true from isFinished, but hasn't reported the change (1 waits: after)
        needed: silent has to call willChangeValue and didChangeValue for “isFinished”
        """.split(separator: "\n")
    )
    after.cancel()
    queue.waitUntilAllOperationsAreFinished()
  }

  @Test func `the explanation says that a group undoes its children's work`() {
    let world = World()
    let pay = Work.failing()
    let order = GroupOperation(name: "order") { pay }
    let clock = world.simulation.environment.clock
    order.onRollback { try await clock.sleep(for: .seconds(60)) }
    let after = Work("after")
    after.addDependency(order)
    world.queue.addOperations([order, after])
    world.simulation.advance(by: .seconds(30))
    #expect(
      text(after) == """
        after waits for order
          order is undoing what its children did
        needed: a rollback of order has to return
        """
    )
    #expect(kinds(order) == [.executing])
    world.simulation.run()
    #expect(text(order).hasPrefix("order has finished: failed"))
  }

  @Test func `the explanation says that a finished group still undoes its children's work`() {
    let world = World()
    let open = Work.open("open")
    let order = GroupOperation(name: "order") { open }
    let clock = world.simulation.environment.clock
    order.onRollback { try await clock.sleep(for: .seconds(60)) }
    world.run(order)
    order.finish(withError: Flaw(1))
    open.finish()
    world.simulation.advance(by: .seconds(30))
    #expect(
      order.explain().causes.map(\.description) == [
        "order has finished: failed: flaw 1; what its children did is being undone"
      ]
    )
    world.simulation.run()
    #expect(!"\(order.explain().causes)".contains("undone"))
  }

  @Test func `the explanation says when a delay ends`() {
    let world = World()
    let pause = DelayOperation(name: "pause", .seconds(120))
    world.queue.addOperation(pause)
    world.simulation.advance(by: .seconds(30))
    #expect(text(pause) == "pause is a delay that ends in 1 min 30 s")
    #expect(kinds(pause) == [.executing])
    world.simulation.run()
  }

  /// The body may cancel them, so they complete no cycle, and an explanation is all there is.
  @Test func `the explanation names operations that a body's tasks await`() {
    let world = World()
    let operations = Locked<[ResultOperation<Int>]>([])
    let first = ResultOperation(name: "first") {
      let second = operations.withLock { $0[1] }
      async let value = second.value
      return try await value
    }
    let second = ResultOperation(name: "second") {
      let first = operations.withLock { $0[0] }
      return try await withThrowingTaskGroup(of: Int.self) { group in
        group.addTask { try await first.value }
        return try await group.next() ?? 0
      }
    }
    operations.withLock { $0 = [first, second] }
    world.queue.addOperations([first, second])
    world.simulation.run()
    #expect(
      text(first) == """
        first has code that waits for second
          first waits in a cycle: first → second → first
        needed: one of first, second has to be cancelled
        """
    )
    #expect(text(second).hasPrefix("second has code that waits for first"))
    first.cancel()
    second.cancel()
    world.simulation.run()
    #expect([first, second].allSatisfy { $0.waitCauses.isEmpty && $0.isFinished })
    operations.withLock { $0 = [] }
  }

  @Test func `the explanation says when an operation is retried`() {
    let world = World()
    let failing = ResultOperation(name: "failing", retry: .constant(.seconds(60)).attempts(3)) {
      throw Flaw(1)
    }
    world.queue.addOperation(failing)
    world.simulation.advance(by: .seconds(45))
    #expect(text(failing) == "failing waits: attempt 1 failed (flaw 1); tries again in 15 s")
    #expect(kinds(failing) == [.retry])
    #expect(failing.explain().causes.first?.error as? Flaw == Flaw(1))
    world.simulation.run()
  }

  @Test func `the explanation names the next attempt and the last attempt's error`() {
    let world = World()
    let upload = RetryOperation(name: "upload", retry: .constant(.seconds(5)).attempts(4)) {
      attempt in
      attempt < 3 ? Work.failing("send", attempt) : world.taking(10, "send")
    }
    let after = Work("after")
    after.addDependency(upload)
    world.queue.addOperations([upload, after])
    world.simulation.advance(by: .seconds(4))
    #expect(text(upload) == "upload waits: attempt 1 failed (flaw 1); tries again in 1 s")
    world.simulation.advance(by: .seconds(3))
    #expect(
      text(after) == """
        after waits for upload
          upload waits: attempt 2 failed (flaw 2); tries again in 3 s
        """
    )
    #expect(after.explain().path.map(\.kind) == [.dependency, .retry])
    #expect(upload.explain().causes.map(\.duration) == [.seconds(2)])
    #expect(upload.explain().causes.first?.error as? Flaw == Flaw(2))
    world.simulation.advance(by: .seconds(4))
    #expect(upload.explain().path.map(\.kind) == [.children, .executing])
    world.simulation.run()
    #expect(kinds(upload) == [.finished])
  }

  @Test func `the explanation says when an attempt follows one that took too long`() {
    let world = World()
    let policy = RetryPolicy.constant(.seconds(60)).attempts(2).attemptTimeout(.seconds(5))
    let upload = RetryOperation(name: "upload", retry: policy) { _ in world.taking(30, "send") }
    world.queue.addOperation(upload)
    world.simulation.advance(by: .seconds(15))
    #expect(
      text(upload)
        == "upload waits: attempt 1 failed (timed out: The time limit of 5 s was exceeded.); "
        + "tries again in 50 s"
    )
    upload.cancel()
    world.simulation.run()
    #expect(text(upload).hasPrefix("upload has finished: cancelled\n"))
  }

  @Test func `the explanation says when the next round begins`() {
    let world = World()
    let poll = RepeatOperation(name: "poll", times: 3, every: .seconds(60)) { round in
      round < 3 ? world.taking(10, "fetch") : Work("last")
    }
    world.queue.addOperation(poll)
    world.simulation.advance(by: .seconds(5))
    #expect(poll.explain().path.map(\.kind) == [.children, .executing])
    world.simulation.advance(by: .seconds(10))
    #expect(text(poll) == "poll waits: round 1 has ended; begins the next in 45 s")
    #expect(kinds(poll) == [.retry])
    #expect(poll.explain().causes.map(\.duration) == [.seconds(5)])
    world.simulation.advance(by: .seconds(65))
    #expect(text(poll) == "poll waits: round 2 has ended; begins the next in 40 s")
    world.simulation.run()
    #expect(kinds(poll) == [.finished])
  }

  @Test func `the explanation says how long an async body has been executing`() {
    let world = World()
    let stream = AsyncStream<Int>.makeStream()
    let listening = ResultOperation(name: "listening") {
      for await _ in stream.stream {}
    }
    world.queue.addOperation(listening)
    world.simulation.advance(by: .seconds(5))
    #expect(
      text(listening) == """
        listening has been executing for 5 s
        needed: listening has to finish \
        (its async body may be waiting for a timer, a stream, a continuation or a lock)
        """
    )
    #expect(listening.explain().causes.map(\.duration) == [.seconds(5)])
    #expect(listening.explain().causes.map(\.operation) == [listening])
    stream.continuation.finish()
    world.simulation.run()
    #expect(kinds(listening) == [.finished])
  }

  @Test func `the explanation says that an async body ignores its cancel`() async {
    let world = World()
    let clock = world.simulation.environment.clock
    let deaf = ResultOperation(name: "deaf") {
      await Task { try? await clock.sleep(until: clock.now + .seconds(60)) }.value
    }
    world.queue.addOperation(deaf)
    world.simulation.advance(by: .seconds(5))
    deaf.cancel()
    world.simulation.advance(by: .seconds(1))
    #expect(
      text(deaf) == """
        deaf was cancelled, and has been executing for 6 s
        needed: deaf has to finish \
        (its async body ignores the cancel, or waits for something that does)
        """
    )
    world.simulation.run()
  }

  @Test func `the explanation says that execute hasn't returned yet`() {
    let world = World()
    let texts = Log<String>()
    let work = Work("work") { work in
      texts.add(text(work))
      work.finish()
    }
    world.run(work)
    #expect(
      texts.entries
        == ["work is executing\nneeded: work has to finish (its execute() has not returned)"]
    )
  }

  @Test func `the explanation names holders of more claim units than a child's limit allows`() {
    let world = World()
    let holder = world.taking(10, "holder")
    holder.addClaim(MutuallyExclusive("db", limit: 3))
    let child = Work("child")
    child.addClaim(MutuallyExclusive("db"))
    let group = GroupOperation(name: "group") { child }
    group.addClaim(MutuallyExclusive("db", limit: 3))
    world.queue.addOperation(holder)
    world.simulation.advance(by: .zero)
    world.queue.addOperation(group)
    world.simulation.advance(by: .seconds(1))
    #expect(group.explain().path.map(\.name) == ["group", "child", "holder"])
    #expect(group.explain().path.map(\.kind) == [.children, .claim, .executing])
    #expect(text(child).hasPrefix("child waits for “db”, which holder holds"))
    #expect(child.explain().causes.map(\.requirement) == ["db"])
    world.simulation.run()
    #expect(group.kind == .succeeded)
  }
}
