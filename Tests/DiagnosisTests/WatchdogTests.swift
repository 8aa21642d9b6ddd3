import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import TestSupport
import Testing

@Suite(.watched) struct `The watchdog of hanging tests` {
  @Test func `the watchdog names hanging tests and explains their queues`() async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) {
      let queue = AdvancedOperationQueue()
      WatchedQueues.add(queue)
      queue.name = "of the test"
      queue.isSuspended = true
      queue.addOperation(Work("stuck"))
      try await RunningTests.note("a test") { Watchdog.watch(for: 0) }
    }
    try expectMessage("Tests have stood still for 0 s. These hang: a test", in: result)
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

  /// Whether each look, with so much computed and so many events since the one before, finds a
  /// standstill.
  private static func looks(
    _ count: Int,
    computing milliseconds: Int,
    eventEvery period: Int = .max
  ) -> [Bool] {
    var standstill = Standstill(seconds: 60)
    return (1...count).map { look in
      standstill.looked(
        at: look / period,
        processorTime: Int64(look) * Int64(milliseconds) * 1_000_000
      )
    }
  }

  @Test func `the watchdog ignores tests that wait for a processor or compute`() {
    #expect(!Self.looks(10_000, computing: 50).contains(true))
    #expect(!Self.looks(10_000, computing: 2_000, eventEvery: 100).contains(true))
    #expect(!Self.looks(10_000, computing: 0, eventEvery: 50).contains(true))
  }

  @Test func `the watchdog reports tests that neither compute nor end or compute too long`() {
    #expect(Self.looks(1_000, computing: 0).firstIndex(of: true) == 59)
    #expect(Self.looks(1_000, computing: 2_000).firstIndex(of: true) == 300)
  }

  @Test func `the watchdog knows existing queues and retains none`() {
    let world = World()
    world.queue.name = "known to the watchdog"
    func isKnown() -> Bool {
      WatchedQueues.explanations.contains { $0.subject.contains("known to the watchdog") }
    }
    #expect(!isKnown())
    world.queue.isSuspended = true
    world.queue.addOperation(Work("work"))
    #expect(isKnown())
    world.queue.isSuspended = false
    world.simulation.run()
    #expect(!isKnown())

    weak var gone: AdvancedOperationQueue?
    for _ in 0..<Effort.rounds(500) {
      let queue = AdvancedOperationQueue()
      WatchedQueues.add(queue)
      gone = queue
    }
    #expect(gone == nil)
  }
}
