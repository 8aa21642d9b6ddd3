import Dispatch

/// An operation that runs one or more blocks at the same time.
///
/// The first block runs on the thread that starts the operation. The operation requests other threads from
/// the executor for the other blocks. If a block has no thread when the first block has returned, the
/// operation runs it on its own thread, too. The operation finishes when all blocks have returned. It takes
/// one slot of its queue, regardless of the number of its blocks.
///
/// ```swift
/// let thumbnails = BlockOperation { makeThumbnail(of: left) }
/// thumbnails.addExecutionBlock { makeThumbnail(of: right) }
/// queue.addOperation(thumbnails)
/// ```
///
/// A subclass may override ``main()`` and call `super`, to run code before and after the blocks.
open class BlockOperation: Operation, @unchecked Sendable {
  // Sendable: the lock of the operation's links guards `first`, and the links contain the other blocks.
  // Overlapping accesses aren't checked, as for the links.
  @exclusivity(unchecked) private final var first: Block?

  /// A closure that generic code can pass on, and that is moved and never copied.
  ///
  /// A bare closure gets a thunk, and with it an allocation, each time. A copy would be counted.
  fileprivate struct Block: ~Copyable {
    let run: @Sendable () -> Void
  }

  /// The blocks of an operation, to be released.
  struct Work: ~Copyable {
    fileprivate var first: Block?
    fileprivate var others: [@Sendable () -> Void]?

    /// Releases the blocks now, and not earlier as the optimizer would, or later.
    @inline(never)
    consuming func release() {}
  }

  /// Creates an operation without blocks.
  public override init() { super.init() }

  /// Creates an operation with its first block.
  ///
  /// - Parameter block: The first block, which runs on the thread that starts the operation. The
  ///   operation releases the block when it has returned; in a subclass, when the operation has
  ///   finished. A `deinit` that this release calls may wait for the operation or its queue.
  public convenience init(block: @escaping @Sendable () -> Void) {
    self.init()
    // An initializer of a subclass may have passed the operation to other code, so only a known class needs
    // no lock.
    if isKnown {
      unsafe first = Block(run: block)
    } else {
      withLinks { _ in unsafe first = Block(run: block) }
    }
  }

  /// Adds a block that can run at the same time as the other blocks.
  ///
  /// - Parameter block: The block. If it isn't the first block of the operation, it runs on another
  ///   thread of the executor if there is a free one.
  /// - Precondition: The operation hasn't started.
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

  /// The blocks that haven't begun; empty once the operation has started.
  open var executionBlocks: [@Sendable () -> Void] {
    withLinks { $0.hasTakenBlocks ? [] : blocks(besides: $0) }
  }

  /// Returns all blocks.
  ///
  /// The caller holds the lock.
  private final func blocks(besides links: borrowing OperationLinks) -> [@Sendable () -> Void] {
    var blocks = links.extra?.otherBlocks ?? []
    if let first = unsafe first?.run { blocks.insert(first, at: 0) }
    return blocks
  }

  /// Runs the blocks, and returns when all blocks have returned.
  open override func main() {
    // The operation keeps its blocks until it has finished.
    let blocks = withLinks { links in
      exchange(&links.hasTakenBlocks, with: true) ? [] : self.blocks(besides: links)
    }
    if let first = blocks.first { run(first, besides: Array(blocks.dropFirst())) }
  }

  /// Does the work of ``main()``, for a queue that knows that the method isn't overridden.
  ///
  /// - Returns: The blocks that have run.
  final func runBlocksOnce() -> Work {
    let work = takeBlocks()
    switch work.first {
    case .some(let first): run(first.run, besides: work.others ?? [])
    case .none: break
    }
    return work
  }

  /// Takes the blocks out.
  ///
  /// From then on the operation has no blocks, and none can be added.
  private final func takeBlocks() -> Work {
    withLinks { links in
      links.hasTakenBlocks = true
      var work = Work()
      unsafe swap(&work.first, &first)
      if let extra = links.extra, !extra.otherBlocks.isEmpty {
        work.others = exchange(&extra.otherBlocks, with: [])
      }
      return work
    }
  }

  override func letGoOfWork() { withExtendedLifetime(takeBlocks()) {} }

  /// Requests a thread for each of the other blocks from the executor, and runs the blocks that no thread has
  /// begun.
  ///
  /// An executor may have no other thread.
  private func run(_ first: @Sendable () -> Void, besides others: [@Sendable () -> Void]) {
    if others.isEmpty { return first() }
    let others = SharedBlocks(others, of: self)
    let executor = withLinks { $0.scheduler }?.completionExecutor ?? DefaultExecutor.shared
    let queue = ThreadContext.queueRunningHere
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
  /// A Boolean value that indicates whether the class of the operation is known, so that no subclass
  /// overrides a method.
  final var isKnown: Bool { type(of: self) == BlockOperation.self }
}

/// The blocks of one operation except the first, from which several threads take one block at a time.
private final class SharedBlocks: Sendable {
  let count: Int
  /// The operation, which is alive while a block is waiting or running, because it waits for the blocks.
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
  /// - Returns: Whether there was such a block.
  func runNext(in queue: OperationQueue?) -> Bool {
    guard takeAndRun(in: queue) else { return false }
    running.leave()
    return true
  }

  private func takeAndRun(in queue: OperationQueue?) -> Bool {
    guard let block = waiting.withLock({ $0.popFirst() }) else { return false }
    unsafe ThreadContext.with(queue: queue, operation: operation) { _ in block() }
    return true
  }

  func waitUntilEnded() { running.wait() }
}
