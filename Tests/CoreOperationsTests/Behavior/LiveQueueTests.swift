import TestSupport
import Testing

@testable import CoreOperations

@Suite(.watched) struct `The queues of a process` {
  private static func isListed(_ name: String) -> Bool {
    LiveQueues.busy.contains { $0.name == name }
  }

  @Test func `a queue that lost its last reference is listed while it has something to do`() async {
    LiveQueues.record()
    let gate = Latch()
    let id = "of LiveQueueTests"
    var queue: OperationQueue? = OperationQueue()
    queue?.name = id
    #expect(!Self.isListed(id))
    let work = BlockOperation { gate.pass() }
    queue?.addOperation(work)
    queue = nil
    #expect(Self.isListed(id))
    gate.open()
    while Self.isListed(id) { await Task.yield() }
    #expect(work.isFinished)
  }

  @Test func `deallocated queues are neither kept nor listed`() {
    LiveQueues.record()
    weak var gone: OperationQueue?
    func makeQueues(_ count: Int) {
      for _ in 0..<count {
        let queue = OperationQueue()
        gone = queue
      }
    }
    makeQueues(1)
    #expect(gone == nil)
    let busy = OperationQueue()
    busy.name = "busy, of LiveQueueTests"
    busy.isSuspended = true
    let work = BlockOperation {}
    busy.addOperation(work)
    let before = LiveQueues.recordedCount
    makeQueues(10_000)
    // Those of other tests that run at the same time are among them.
    #expect(LiveQueues.recordedCount < before + 9_000)
    #expect(Self.isListed("busy, of LiveQueueTests"))
    work.cancel()
    busy.isSuspended = false
  }

  @Test func `the main queue is listed`() async {
    await #expect(processExitsWith: .success) {
      LiveQueues.record()
      let gate = Latch()
      OperationQueue.main.addOperation { gate.open() }
      #expect(LiveQueues.busy == [.main] || gate.isOpen)
    }
  }

  private static func names(_ queue: OperationQueue) -> [[String]] {
    queue.membersByWait.map { $0.operations.map { $0.name ?? "" } }
  }

  @Test func `members that wait for a slot, or behind the same barrier, are together`() async throws
  {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    let (gate, begun) = (Latch(), Latch())
    func add(_ name: String, to others: Operation? = nil) -> Operation {
      let operation = BlockOperation {
        begun.open()
        gate.pass()
      }
      operation.name = name
      if let others { operation.addDependency(others) }
      queue.addOperation(operation)
      return operation
    }
    let holder = add("holder")
    await begun.opened()
    _ = (add("slot 1"), add("dependent", to: holder), add("slot 2"))
    let cancelled = add("cancelled")
    cancelled.cancel()
    queue.addBarrierBlock {}
    _ = (add("behind 1"), add("behind 2"), add("dependent behind", to: holder))
    queue.addBarrierBlock {}
    _ = (add("last 1"), add("last 2"))
    let names = Self.names(queue).filter { $0 != ["cancelled"] }
    #expect(
      names == [
        ["holder"], ["slot 1", "slot 2"], ["dependent"], ["behind 1", "behind 2"],
        ["dependent behind"], ["last 1", "last 2"],
      ]
    )
    gate.open()
    try await queue.untilAllOperationsAreFinished()
  }
}
