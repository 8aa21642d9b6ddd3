import AdvancedOperations
import AdvancedOperationsTesting
import TestSupport
import Testing

@Suite(.watched) struct `What finds out about hanging tests` {
  @Test func `names them, and explains what their queues wait for`() async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) {
      LiveQueues.record()
      let queue = AdvancedOperationQueue()
      queue.name = "of the test"
      queue.isSuspended = true
      queue.addOperation(Work("stuck"))
      try await RunningTests.note("a test") { Watchdog.watch(for: 0) }
    }
    try expectMessage("No test has begun or ended for 0 s. These hang: a test", in: result)
    let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(
      text.contains(
        """
        queue “of the test” (suspended): 1 operation, 0 executing
          stuck waits for queue “of the test” to be resumed
        needed: queue “of the test” has to be resumed
        """
      )
    )
  }

  @Test func `knows queues that exist, and keeps none of them alive`() {
    LiveQueues.record()
    let world = World()
    world.queue.name = "known to the watchdog"
    func isKnown() -> Bool {
      LiveQueues.explanations.contains { $0.subject.contains("known to the watchdog") }
    }
    #expect(!isKnown())
    world.queue.isSuspended = true
    world.queue.addOperation(Work("work"))
    #expect(isKnown())
    world.queue.isSuspended = false
    world.simulation.run()
    #expect(!isKnown())

    weak var gone: AdvancedOperationQueue?
    for _ in 0..<500 {
      let queue = AdvancedOperationQueue()
      gone = queue
    }
    #expect(gone == nil)
  }
}
