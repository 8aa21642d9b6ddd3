import CoreOperations
import TestSupport
import Testing

/// The code of an operation waits for another one, and a cycle is closed somewhere behind that.
@Suite(.watched) struct `Cycles behind waits of code` {
  private let queue = OperationQueue()
  private let elsewhere = OperationQueue()
  private let waits: BlockOperation
  private let middle = BlockOperation {}
  private let last = BlockOperation {}

  /// The code waits for the middle one, which isn't in a queue yet.
  init() async {
    let middle = middle
    waits = BlockOperation { middle.waitUntilFinished() }
    for (operation, name) in [(waits, "waits"), (middle, "middle"), (last, "last")] {
      operation.name = name
    }
    queue.maxConcurrentOperationCount = 1
    queue.addOperation(waits)
    // By then the wait has been looked at.
    await eventually { middle.hasDependents }
  }

  private func cycle(of operation: Operation) -> [String]? {
    (operation.cancellationReason as? OperationCycleError)?.path.map(\.name)
  }

  @Test
  func `an awaited operation's dependency in the full queue completes a cycle`() async throws {
    middle.addDependency(last)
    elsewhere.addOperation(middle)
    queue.addOperation(last)
    try await waits.untilFinished()
    #expect(cycle(of: last) == ["last", "waits", "middle", "last"])
    #expect(!middle.isCancelled)
  }

  @Test func `an awaited operation's dependency in a batch completes a cycle`() async throws {
    middle.addDependency(last)
    elsewhere.addOperation(middle)
    let plain = BlockOperation {}
    queue.addOperations([plain, last])
    try await waits.untilFinished()
    try await queue.untilAllOperationsAreFinished()
    #expect(cycle(of: last) == ["last", "waits", "middle", "last"])
    #expect(!plain.isCancelled)
  }

  @Test
  func `a dependency on an operation that waits for the slot completes a cycle`() async throws {
    let between = BlockOperation {}
    between.name = "between"
    middle.addDependency(between)
    elsewhere.addOperation(middle)
    queue.addOperation(last)
    between.addDependency(last)
    elsewhere.addOperation(between)
    try await queue.untilAllOperationsAreFinished()
    #expect(cycle(of: between) == ["between", "last", "waits", "middle", "between"])
    #expect(!last.isCancelled && !middle.isCancelled)
  }

  @Test func `an awaited operation's dependency behind a barrier completes a cycle`() async throws {
    middle.addDependency(last)
    elsewhere.addOperation(middle)
    queue.addBarrierBlock {}
    queue.addOperation(last)
    try await queue.untilAllOperationsAreFinished()
    #expect(last.cancellationReason is OperationCycleError)
    #expect(!middle.isCancelled)
  }

  @Test
  func `an awaited operation's dependency in a closed queue completes a cycle`() async throws {
    middle.addDependency(last)
    elsewhere.addOperation(middle)
    queue.maxConcurrentOperationCount = 0
    queue.addOperation(last)
    #expect(!last.isCancelled)
    queue.maxConcurrentOperationCount = 1
    #expect(cycle(of: last) == ["last", "waits", "middle", "last"])
    // Without the cycle it would be there for ever.
    last.cancel()
    try await queue.untilAllOperationsAreFinished()
  }

  @Test
  func `a lowered limit completes a cycle with an awaited operation's dependency`() async throws {
    queue.maxConcurrentOperationCount = 2
    middle.addDependency(last)
    last.addDependency(BlockOperation {})
    queue.addOperation(last)
    elsewhere.addOperation(middle)
    #expect(!last.isCancelled)
    queue.maxConcurrentOperationCount = 1
    #expect(cycle(of: last) == ["last", "waits", "middle", "last"])
    #expect(!middle.isCancelled)
    last.cancel()
    try await queue.untilAllOperationsAreFinished()
  }

  @Test func `a limit below the used slots completes a cycle when no slot is freed`() async throws {
    let end = Latch()
    queue.maxConcurrentOperationCount = 2
    let second = BlockOperation { end.pass() }
    queue.addOperation(second)
    await eventually { second.isExecuting }
    middle.addDependency(last)
    elsewhere.addOperation(middle)
    queue.addOperation(last)
    #expect(!last.isCancelled)
    queue.maxConcurrentOperationCount = 1
    #expect(cycle(of: last) == ["last", "waits", "middle", "last"])
    // Without the cycle it would be there for ever.
    last.cancel()
    end.open()
    try await queue.untilAllOperationsAreFinished()
  }

  @Test
  func `an awaited operation's dependency in a suspended queue completes a cycle`() async throws {
    middle.addDependency(last)
    elsewhere.addOperation(middle)
    queue.isSuspended = true
    queue.addOperation(last)
    queue.isSuspended = false
    try await queue.untilAllOperationsAreFinished()
    #expect(cycle(of: last) == ["last", "waits", "middle", "last"])
  }

  @Test func `an operation added to an awaited queue can complete a cycle`() async throws {
    let other = OperationQueue()
    let (held, late) = (BlockOperation {}, BlockOperation {})
    let isWaiting = Latch()
    held.addDependency(middle)
    other.addOperation(held)
    let whole = BlockOperation {
      isWaiting.open()
      other.waitUntilAllOperationsAreFinished()
    }
    let single = OperationQueue()
    single.maxConcurrentOperationCount = 1
    single.addOperation(whole)
    await isWaiting.opened()
    await eventually { !whole.waitCauses.isEmpty }
    single.addOperation(last)
    late.addDependency(last)
    late.name = "late"
    other.addOperation(late)
    await eventually { late.isFinished }
    #expect(late.cancellationReason is OperationCycleError)
    elsewhere.addOperation(middle)
    for queue in [other, single, queue] { try await queue.untilAllOperationsAreFinished() }
    #expect(!last.isCancelled && !held.isCancelled)
  }

  @Test func `a chain that is added piecewise is searched once per piece`() async throws {
    let chain = (0..<Effort.size(20_000)).map { _ in BlockOperation {} }
    for (next, previous) in zip(chain.dropFirst(), chain) { next.addDependency(previous) }
    middle.addDependency(chain[chain.count - 1])
    for operation in chain { elsewhere.addOperation(operation) }
    elsewhere.addOperation(middle)
    try await queue.untilAllOperationsAreFinished()
    #expect(chain.allSatisfy { $0.isFinished && !$0.isCancelled })
  }

  @Test func `a chain that is added to an awaited queue finishes`() async throws {
    let other = OperationQueue()
    let chain = (0..<Effort.size(20_000)).map { _ in BlockOperation {} }
    chain[0].addDependency(middle)
    other.addOperation(chain[0])
    let whole = BlockOperation { other.waitUntilAllOperationsAreFinished() }
    elsewhere.addOperation(whole)
    await eventually { !whole.waitCauses.isEmpty }
    for (next, previous) in zip(chain.dropFirst(), chain) {
      next.addDependency(previous)
      other.addOperation(next)
    }
    elsewhere.addOperation(middle)
    for queue in [other, elsewhere, queue] { try await queue.untilAllOperationsAreFinished() }
    #expect(chain.allSatisfy { $0.isFinished && !$0.isCancelled })
  }
}
