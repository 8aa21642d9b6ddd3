import AdvancedOperations
import AdvancedOperationsTesting
import CoreOperations
import Testing

@Suite(.watched) struct `Why isn't it over` {
  @Test func `execute returned and finish was never called`() {
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

  @Test func `it waits to be tried again`() {
    let world = World()
    let failing = ResultOperation(name: "failing", retry: .constant(.seconds(60), attempts: 3)) {
      throw Flaw(1)
    }
    world.queue.addOperation(failing)
    world.simulation.advance(by: .seconds(45))
    #expect(text(failing) == "failing is to be tried again in 15 s")
    #expect(kinds(failing) == [.retry])
    world.simulation.run()
  }

  @Test func `it waits for its next attempt, and what became of the last one`() {
    let world = World()
    let upload = RetryOperation(name: "upload", retry: .constant(.seconds(5), attempts: 4)) {
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
    world.simulation.advance(by: .seconds(4))
    #expect(upload.explain().path.map(\.kind) == [.children, .executing])
    world.simulation.run()
    #expect(kinds(upload) == [.finished])
  }

  @Test func `it waits for its next attempt after one that took too long`() {
    let world = World()
    let policy = RetryPolicy.constant(.seconds(60), attempts: 2).attemptTimeout(.seconds(5))
    let upload = RetryOperation(name: "upload", retry: policy) { _ in world.taking(30, "send") }
    world.queue.addOperation(upload)
    world.simulation.advance(by: .seconds(15))
    #expect(
      text(upload) == "upload waits: attempt 1 failed (timed out: It took longer than 5 s.); "
        + "tries again in 50 s"
    )
    upload.cancel()
    world.simulation.run()
    #expect(text(upload) == "upload has finished: cancelled")
  }

  @Test func `it waits for its next round`() {
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
}
