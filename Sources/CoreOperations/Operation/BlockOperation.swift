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
  // Sendable: `first` is guarded by the lock of the operation's links; the other blocks are in
  // there. Not checked for overlapping accesses, like these.
  @exclusivity(unchecked) private final var first: Block?

  /// A closure that generic code can hand on, and that is moved and never copied.
  ///
  /// A bare one gets a thunk, and with it an allocation, each time; a copy is counted.
  private struct Block: ~Copyable {
    let run: @Sendable () -> Void
  }

  private struct Taken: ~Copyable {
    var first: Block?
    var others: [@Sendable () -> Void] = []
  }

  /// Creates an operation without blocks.
  public override init() { super.init() }

  /// Creates an operation with its first block.
  ///
  /// - Parameter block: Runs on the thread that starts the operation; released when it finished.
  public convenience init(block: @escaping @Sendable () -> Void) {
    self.init()
    // An initialiser of a subclass may have let others know of it.
    if isKnown {
      unsafe first = Block(run: block)
    } else {
      withLinks { _ in unsafe first = Block(run: block) }
    }
  }

  /// Adds a block to run at the same time as the others.
  ///
  /// - Parameter block: Runs on a thread of the executor, or on the starting one when it is first.
  /// - Precondition: The operation has not started.
  open func addExecutionBlock(_ block: @escaping @Sendable () -> Void) {
    let isLate = withLinks { links -> Bool in
      if links.hasTakenBlocks { return true }
      if unsafe first == nil {
        unsafe first = Block(run: block)
      } else {
        links.makeExtra().otherBlocks.append(block)
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
    withLinks { links in
      var blocks = links.extra?.otherBlocks ?? []
      if let first = unsafe first?.run { blocks.insert(first, at: 0) }
      return blocks
    }
  }

  /// Runs the blocks and returns when all have ended.
  open override func main() { runBlocks() }

  /// What ``main()`` does, for a queue that knows that it isn't overridden.
  final func runBlocks() {
    var taken = takeBlocks()
    guard let first = taken.first.take() else { return }
    if taken.others.isEmpty {
      first.run()
    } else {
      run(first.run, besides: SharedBlocks(taken.others, of: self))
    }
  }

  /// Takes the blocks out; there are none, and none can be added, from then on.
  private final func takeBlocks() -> Taken {
    withLinks { links in
      links.hasTakenBlocks = true
      var taken = Taken()
      unsafe swap(&taken.first, &first)
      if let extra = links.extra { swap(&taken.others, &extra.otherBlocks) }
      return taken
    }
  }

  override func letGoOfWork() { withExtendedLifetime(takeBlocks()) {} }

  /// Asks the executor for a thread for each of the others, and does what they haven't begun: an
  /// executor may have no other thread.
  private func run(_ first: @Sendable () -> Void, besides others: SharedBlocks) {
    let executor = withLinks { $0.scheduler }?.completionExecutor ?? DefaultExecutor.shared
    let queue = ThreadOccupant.queueRunningHere
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

extension Operation {
  /// Whether everything of the operation is known, because it is no subclass that overrides
  /// something.
  final var isKnown: Bool { type(of: self) == BlockOperation.self }
}

/// The blocks of one operation but the first, for several threads to take one at a time.
private final class SharedBlocks: Sendable {
  let count: Int
  /// Alive while a block is waiting or running, because it waits for that.
  private unowned(unsafe) let operation: Operation
  private let waiting = Locked(FirstInFirstOut<@Sendable () -> Void>())
  private let running = DispatchGroup()

  init(_ blocks: [@Sendable () -> Void], of operation: Operation) {
    unsafe self.operation = operation
    count = blocks.count
    waiting.withLock { waiting in
      for block in blocks {
        running.enter()
        waiting.append(block)
      }
    }
  }

  /// Runs a block that hasn't begun.
  ///
  /// - Returns: Whether there was one.
  func runNext(in queue: (any QueueObject)?) -> Bool {
    guard takeAndRun(in: queue) else { return false }
    running.leave()
    return true
  }

  /// The block is released when this returns, so that nothing of it outlives the operation's end.
  private func takeAndRun(in queue: (any QueueObject)?) -> Bool {
    guard let block = waiting.withLock({ $0.popFirst() }) else { return false }
    unsafe ThreadOccupant.with(queue: queue, operation: operation) { _ in block() }
    return true
  }

  func waitUntilEnded() { running.wait() }
}
