import CoreOperations
import TestSupport
import Testing

/// The usual owner of a queue cancels and waits in its `deinit`, and its last reference is often
/// what an operation of that queue holds.
@Suite(.watched, .needsThreadPool("a deinit blocks")) struct `An owner that waits in its deinit` {
  private final class Owner: Sendable {
    let queue: OperationQueue
    private let atEnd: @Sendable (_ isEmpty: Bool) -> Void

    init(_ queue: OperationQueue, atEnd: @escaping @Sendable (Bool) -> Void) {
      self.queue = queue
      self.atEnd = atEnd
    }

    func touch() {}

    deinit {
      queue.cancelAllOperations()
      queue.waitUntilAllOperationsAreFinished()
      atEnd(queue.operationCount == 0)
    }
  }

  private final class Holder: Operation, @unchecked Sendable {
    private let owner: Owner
    init(_ owner: Owner) { self.owner = owner }
    override func main() { owner.touch() }
  }

  private class Subclass: BlockOperation, @unchecked Sendable {}
  private final class GoingOn: Subclass, @unchecked Sendable {
    override func main() {
      super.main()
      super.main()
    }
  }

  /// What holds the owner last.
  enum Place: CaseIterable {
    case closure, asyncClosure, block, otherBlock, blockOfSubclass, blockBeforeMainReturns
    case operation, barrier, completionBlock, blockOfCancelled, observer
  }

  private func add(_ place: Place, holding owner: Owner, to queue: OperationQueue) -> Any? {
    switch place {
    case .closure: queue.addOperation { owner.touch() }
    case .asyncClosure: queue.addOperation { () async -> Void in owner.touch() }
    case .block: queue.addOperation(BlockOperation { owner.touch() })
    case .otherBlock:
      let operation = BlockOperation {}
      operation.addExecutionBlock { owner.touch() }
      queue.addOperation(operation)
    case .blockOfSubclass: queue.addOperation(Subclass { owner.touch() })
    case .blockBeforeMainReturns: queue.addOperation(GoingOn { owner.touch() })
    case .operation: queue.addOperation(Holder(owner))
    case .barrier: queue.addBarrierBlock { owner.touch() }
    case .completionBlock:
      let operation = Operation()
      operation.completionBlock = { owner.touch() }
      queue.addOperation(operation)
    case .blockOfCancelled:
      let operation = BlockOperation { owner.touch() }
      operation.cancel()
      queue.addOperation(operation)
    case .observer:
      let operation = BlockOperation {}
      let token = operation.observe(\.isFinished) { _, _ in owner.touch() }
      queue.addOperation(operation)
      return token
    }
    return nil
  }

  /// What comes behind may be what the worker was to start next when it released the owner.
  @Test(arguments: Place.allCases, [0, 3])
  func `an owner may wait for its queue in its deinit`(place: Place, behind: Int) async {
    for limit in [1, 2] {
      let queue = OperationQueue()
      queue.maxConcurrentOperationCount = limit
      let isEmpty = Locked<Bool?>(nil)
      let isOver = Latch()
      let mayRun = Latch()
      queue.addOperation { mayRun.pass() }
      do {
        let owner = Owner(queue) { empty in
          isEmpty.withLock { $0 = empty }
          isOver.open()
        }
        withExtendedLifetime(add(place, holding: owner, to: queue)) {}
        for _ in 0..<behind { queue.addOperation(Operation()) }
        // One that was cancelled has let go of its owner by now.
        mayRun.open()
      }
      await isOver.opened()
      // Others may have been added by nobody.
      #expect(isEmpty.withLock { $0 } == true)
    }
  }

  /// What is released before its end is reported is gone when a wait for that returns.
  @Test func `a block is fully released after a wait for its operation`() async {
    for _ in 0..<Effort.rounds(2_000) {
      let live = LiveCount()
      let queue = OperationQueue()
      let operation: BlockOperation
      do {
        let token = Token(live)
        operation = BlockOperation { token.touch() }
      }
      queue.addOperation(operation)
      await onThread { operation.waitUntilFinished() }
      #expect(live.alive == 0)
    }
  }

  @Test(arguments: [false, true])
  func `the block of a cancelled operation is released before its end`(isSubclass: Bool) async {
    let queue = OperationQueue()
    let count = Locked<Int?>(nil)
    let isReleased = Latch()
    let operation: BlockOperation
    do {
      let token = Token {
        count.withLock { $0 = queue.operationCount }
        isReleased.open()
      }
      operation = isSubclass ? Subclass { token.touch() } : BlockOperation { token.touch() }
    }
    operation.cancel()
    queue.addOperation(operation)
    await isReleased.opened()
    #expect(count.withLock { $0 } == 1)
  }

  @Test func `an owner's deinit may wait for dependents in another queue`() async {
    let (queue, other) = (OperationQueue(), OperationQueue())
    let isOver = Latch()
    do {
      let dependent = Operation()
      let token = Token {
        dependent.waitUntilFinished()
        isOver.open()
      }
      let operation = BlockOperation { token.touch() }
      dependent.addDependency(operation)
      other.addOperation(dependent)
      queue.addOperation(operation)
    }
    await isOver.opened()
  }

  @Test func `an owner's deinit may wait for an operation that another one awaits`() async {
    let queue = OperationQueue()
    let isOver = Latch()
    let isWaiting = Latch()
    do {
      let mayRun = Latch()
      let token = Token {
        queue.waitUntilAllOperationsAreFinished()
        isOver.open()
      }
      let first = BlockOperation {
        mayRun.pass()
        token.touch()
      }
      queue.addOperation(first)
      queue.addOperation {
        isWaiting.open()
        first.waitUntilFinished()
      }
      await isWaiting.opened()
      mayRun.open()
    }
    await isOver.opened()
  }
}
