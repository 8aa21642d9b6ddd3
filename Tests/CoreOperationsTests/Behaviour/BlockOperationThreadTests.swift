import CoreOperations
import Testing

/// Has another thread run each worker to its end before it goes on.
private struct Eager: OperationExecutor {
  func enqueue(_ worker: @escaping @Sendable () -> Void) {
    let done = Gate()
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
  @Test func `the first runs on the thread that starts it, however quick others are`() async {
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
}
