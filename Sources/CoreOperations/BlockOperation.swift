import Dispatch

/// An operation that runs blocks: the first on its own thread, the others at the same time.
///
/// It takes one slot of its queue whatever the number of its blocks, and is finished when all of
/// them have returned.
///
/// ```swift
/// let thumbnails = BlockOperation { makeThumbnail(of: left) }
/// thumbnails.addExecutionBlock { makeThumbnail(of: right) }
/// queue.addOperation(thumbnails)
/// ```
open class BlockOperation: Operation, @unchecked Sendable {
  // Sendable: `blocks` has a lock.
  private enum Blocks {
    case none
    case one(@Sendable () -> Void)
    case many([@Sendable () -> Void])
    case begun
  }

  private let blocks = Locked(Blocks.none)

  /// Creates an operation without blocks.
  public override init() { super.init() }

  /// Creates an operation with its first block.
  ///
  /// - Parameter block: Runs on the thread that starts the operation; released when it finished.
  public convenience init(block: @escaping @Sendable () -> Void) {
    self.init()
    blocks.withLock { $0 = .one(block) }
  }

  /// Adds a block to run at the same time as the others.
  ///
  /// - Parameter block: Runs on a thread of the executor, or on the starting one when it is first.
  /// - Precondition: The operation has not started.
  open func addExecutionBlock(_ block: @escaping @Sendable () -> Void) {
    let isLate = blocks.withLock { blocks -> Bool in
      switch blocks {
      case .none: blocks = .one(block)
      case .one(let first): blocks = .many([first, block])
      case .many(var all):
        blocks = .none
        all.append(block)
        blocks = .many(all)
      case .begun: return true
      }
      return false
    }
    if isLate {
      trap(
        "addExecutionBlock(_:) was called on operation “\(label)”, which has started. "
          + "Add all blocks before the operation is added to a queue or started."
      )
    }
  }

  /// The blocks that have not been begun; none once the operation has started.
  open var executionBlocks: [@Sendable () -> Void] {
    blocks.withLock { blocks in
      switch blocks {
      case .none, .begun: []
      case .one(let block): [block]
      case .many(let all): all
      }
    }
  }

  /// Runs the blocks and returns when all have ended.
  open override func main() { runBlocks() }

  /// What ``main()`` does, for a queue that knows that it isn't overridden.
  final func runBlocks() {
    let begun = blocks.withLock { blocks in
      let taken = blocks
      blocks = .begun
      return taken
    }
    switch begun {
    case .none, .begun: return
    case .one(let block): block()
    case .many(let all): run(all[0], besides: SharedBlocks(all.dropFirst(), of: self))
    }
  }

  override func letGoOfWork() {
    let dropped = blocks.withLock { blocks in
      let dropped = blocks
      blocks = .begun
      return dropped
    }
    withExtendedLifetime(dropped) {}
  }

  /// Asks the executor for a thread for each of the others, and does what they haven't begun: an
  /// executor may have no other thread.
  private func run(_ first: @Sendable () -> Void, besides others: SharedBlocks) {
    let executor = links.withLock { $0.scheduler }?.completionExecutor ?? DefaultExecutor.shared
    let queue = OperationQueue.current
    for _ in 0..<others.count {
      executor.enqueue {
        _ = others.runNext(in: queue)
      }
    }
    first()
    while others.runNext(in: queue) {}
    others.waitUntilEnded()
  }
}

/// The blocks of one operation but the first, for several threads to take one at a time.
private final class SharedBlocks: Sendable {
  let count: Int
  /// Alive while a block is waiting or running, because it waits for that.
  private unowned(unsafe) let operation: Operation
  private let waiting = Locked(FirstInFirstOut<@Sendable () -> Void>())
  private let running = DispatchGroup()

  init(_ blocks: ArraySlice<@Sendable () -> Void>, of operation: Operation) {
    unsafe self.operation = operation
    count = blocks.count
    waiting.withLock { waiting in
      for block in blocks {
        running.enter()
        waiting.append(block)
      }
    }
  }

  /// Runs a block that nobody has begun, and says whether there was one.
  func runNext(in queue: OperationQueue?) -> Bool {
    guard takeAndRun(in: queue) else { return false }
    running.leave()
    return true
  }

  /// The block is released when this returns, so that nothing of it outlives the operation's end.
  private func takeAndRun(in queue: OperationQueue?) -> Bool {
    guard let block = waiting.withLock({ $0.popFirst() }) else { return false }
    unsafe ThreadOccupant.with(queue: queue, operation: operation) { _ in block() }
    return true
  }

  func waitUntilEnded() { running.wait() }
}
