import Dispatch
import TestSupport
import Testing

@testable import CoreOperations

/// Has another thread run each worker to its end before it goes on.
private struct Eager: OperationExecutor {
  func enqueue(_ worker: @escaping @Sendable () -> Void) {
    let done = Latch()
    launchThread {
      worker()
      done.open()
    }
    done.pass()
  }
}

/// Marks the thread that starts it.
private final class Marked: BlockOperation, @unchecked Sendable {
  static let mark = ThreadLocal<Tally>()
  private let tally = Tally()

  override func start() {
    Self.mark.value = tally
    super.start()
    Self.mark.value = nil
  }
}

@Suite(.watched) struct `The blocks of one operation` {
  @Test func `the first block runs on the thread that starts the operation`() async {
    let operation = Marked()
    let log = Log<String>()
    for name in ["first", "second", "third"] {
      operation.addExecutionBlock { log.add("\(name) \(Marked.mark.value == nil)") }
    }
    let queue = OperationQueue(executor: Eager())
    await onThread { queue.addOperation(operation) }
    #expect(operation.isFinished)
    #expect(Set(log.entries) == ["first false", "second true", "third true"])
  }

  #if os(Linux) || os(Android)
  @Test func `an operation isn't finished while another thread runs one of its blocks`()
    async throws
  {
    let hasBegun = Latch()
    let first = Locked<ThreadActivity?>(nil)
    let wasFinished = Locked(true)
    let operation = BlockOperation {
      hasBegun.pass()
      first.withLock { $0 = ThreadActivity() }
    }
    operation.addExecutionBlock { [unowned operation] in
      hasBegun.open()
      // Until the first one has returned, and its thread has nothing more to do.
      let pause = DispatchSemaphore(value: 0)
      while first.withLock({ $0?.isAsleep }) != true {
        _ = pause.wait(timeout: .now() + .milliseconds(1))
      }
      wasFinished.withLock { $0 = operation.isFinished }
    }
    let queue = OperationQueue()
    queue.addOperation(operation)
    try await queue.untilAllOperationsAreFinished()
    #expect(!wasFinished.withLock { $0 })
  }
  #endif
}
