import AdvancedOperations
import AdvancedTestSupport
import CoreOperations
import TestSupport
import Testing

/// Operations with a `start()` or an `isFinished` of their own.
@Suite(.watched) struct `Why a core operation isn't finished` {
  /// Says that it is over when it is told to.
  private final class Manual: Operation, @unchecked Sendable {
    enum Kind: CaseIterable { case start, startThatExecutes, main }

    private let kind: Kind
    private let isOver = Locked(false)
    let isInStart = Latch()
    let mayReturn = Latch()

    init(_ kind: Kind, name: String) {
      self.kind = kind
      super.init()
      self.name = name
    }

    override var isExecuting: Bool { kind == .startThatExecutes && !isFinished }
    override var isFinished: Bool { isOver.withLock { $0 } }

    override func start() {
      isInStart.open()
      mayReturn.pass()
      if kind == .main { super.start() }
    }

    func end() {
      isOver.withLock { $0 = true }
      didChangeValue(forKey: "isFinished")
    }
  }

  @Test(.needsThreadPool("start() blocks"), arguments: Manual.Kind.allCases)
  private func `the explanation distinguishes a running start from one that has returned`(
    kind: Manual.Kind
  ) async throws {
    let queue = OperationQueue()
    queue.name = "queue"
    let manual = Manual(kind, name: "manual")
    queue.addOperation(manual)
    await manual.isInStart.opened()
    let isExecuting = kind == .startThatExecutes
    let state = isExecuting ? "is executing" : "is in its start()"
    #expect(
      "\(queue.explain())" == """
        queue “queue”: 1 operation, \(isExecuting ? 1 : 0) executing
          manual \(state)
        needed: manual has to finish
        """
    )
    manual.mayReturn.open()
    let call = kind == .main ? "main()" : "start()"
    let text =
      isExecuting
      ? "manual is executing (its start() has returned)"
      : "manual has returned from \(call), and no end was reported: isFinished is false"
    await eventually { manual.explain().causes.first?.description == text }
    if !isExecuting {
      #expect(manual.explain().causes.first?.kind == .finishNotCalled)
      #expect(
        manual.explain().causes.first?.remedy
          == "isFinished of manual has to turn true, and the change to be reported"
      )
    }
    manual.end()
    try await queue.untilAllOperationsAreFinished()
  }

  @Test func `the explanation says that the operation's main thread is blocked`() async throws {
    let queue = OperationQueue()
    queue.name = "queue"
    let mayEnd = Latch()
    queue.addOperation { mayEnd.pass() }
    let hop = BlockOperation {}
    hop.name = "hop"
    async let wait: Void = MainActor.run {
      OperationQueue.main.addOperation(hop)
      queue.waitUntilAllOperationsAreFinished()
    }
    await eventually { hop.explain().causes.first?.kind == .mainThread }
    #expect(
      "\(hop.explain())" == """
        hop waits for the main thread, which is blocked by a wait for queue “queue”
        needed: the main thread has to await queue “queue” instead of blocking
        """
    )
    mayEnd.open()
    await wait
    try await hop.untilFinished()
  }
}
