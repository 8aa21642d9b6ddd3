import AdvancedOperations
import AdvancedTestSupport
import TestSupport
import Testing

/// What comes back from an actor goes on where bodies do, whatever the actor does next.
@Suite(.watched) struct `Operations that meet at an actor` {
  private actor Meter {
    private(set) var count = 0

    func add() { count += 1 }

    /// Blocks the thread that the actor has at this moment.
    func wait(for gate: Latch) { gate.pass() }
  }

  @Test func `many operations that use an actor at the same time all finish`() async throws {
    let queue = AdvancedOperationQueue()
    let meter = Meter()
    for _ in 0..<100 {
      let operations = (0..<8).map { number in
        ResultOperation(name: "body \(number)") { await meter.add() }
      }
      queue.addOperations(operations)
      try await queue.untilAllOperationsAreFinished()
      #expect(operations.allSatisfy { $0.kind == .succeeded })
    }
    #expect(await meter.count == 800)
  }

  @Test func `conditions, children and closures that use an actor all finish`() async throws {
    let queue = AdvancedOperationQueue()
    let meter = Meter()
    for _ in 0..<50 {
      let group = GroupOperation {
        for number in 0..<4 {
          ResultOperation(name: "child \(number)") {
            async let first: Void = meter.add()
            async let second: Void = meter.add()
            _ = await (first, second)
          }
        }
      }
      queue.addOperation(group)
      for number in 0..<4 {
        let guarded = Work("guarded \(number)")
        guarded.addCondition(
          BlockCondition {
            await meter.add()
            return true
          }
        )
        queue.addOperation(guarded)
        queue.addOperation { await meter.add() }
      }
      try await queue.untilAllOperationsAreFinished()
      #expect(group.kind == .succeeded)
    }
    #expect(await meter.count == 800)
  }

  @Test(.needsThreadPool("The actor blocks its thread."))
  func `operations leave an actor although the next one blocks its thread`() async throws {
    let queue = AdvancedOperationQueue()
    let (firstCame, lastComes, blocked, gate) = (Latch(), Latch(), Latch(), Latch())
    let meter = Meter()
    let first = ResultOperation(name: "first") {
      firstCame.open()
      await meter.wait(for: blocked)
      gate.open()
    }
    let last = ResultOperation(name: "last") {
      lastComes.open()
      await meter.wait(for: gate)
    }
    queue.addOperation(first)
    await firstCame.opened()
    queue.addOperation(last)
    await lastComes.opened()
    // The thread on which the actor lets go of the first goes on with the last.
    blocked.open()
    try await queue.untilAllOperationsAreFinished()
    #expect(last.kind == .succeeded)
  }
}
