import CoreOperations
import TestSupport
import Testing

/// An operation in front of a barrier needs one behind it, so that none of the two could ever run.
@Suite(.watched) struct `Cycles that a barrier closes` {
  private let queue = OperationQueue()
  private let elsewhere = OperationQueue()
  private let before = named("before")
  private let behind = named("behind")

  private static func named(_ name: String) -> BlockOperation {
    let operation = BlockOperation {}
    operation.name = name
    return operation
  }

  private func cycle(of operation: Operation) -> [String]? {
    (operation.cancellationReason as? OperationCycleError)?.path.map(\.name)
  }

  @Test(arguments: [false, true])
  func `an operation added behind a barrier completes a cycle if needed before it`(
    isBatch: Bool
  ) async throws {
    before.addDependency(behind)
    queue.addOperation(before)
    queue.addBarrierBlock {}
    let other = BlockOperation {}
    if isBatch { queue.addOperations([other, behind]) } else { queue.addOperation(behind) }
    try await queue.untilAllOperationsAreFinished()
    #expect(cycle(of: behind) == ["behind", "before", "behind"])
    #expect(!before.isCancelled && !other.isCancelled)
  }

  /// In a process of its own: other cycles of barriers make everything look.
  @Test func `a barrier cycle is found while another thread adds the operation`() async {
    await #expect(processExitsWith: .success) {
      let (queue, elsewhere) = (OperationQueue(), OperationQueue())
      let (before, behind) = (BlockOperation {}, BlockOperation {})
      let isAdded = Locked(false)
      let asked = Layered("asked")
      asked.answer { answers in
        answers.askedForNeeds = { _ in
          if !isAdded.withLock({ exchange(&$0, with: true) }) { queue.addOperation(behind) }
        }
      }
      before.addDependencies([behind, asked])
      queue.addOperation(before)
      queue.addBarrierBlock {}
      // At once: otherwise nothing would ever end here.
      try #require(behind.cancellationReason is OperationCycleError)
      elsewhere.addOperation(asked)
      for queue in [queue, elsewhere] { try await queue.untilAllOperationsAreFinished() }
      #expect(!before.isCancelled)
    }
  }

  @Test func `a late dependency behind a barrier completes a cycle`() async throws {
    queue.isSuspended = true
    queue.addOperation(before)
    queue.addBarrierBlock {}
    queue.addOperation(behind)
    before.addDependency(behind)
    queue.isSuspended = false
    // At once: otherwise nothing would ever end here.
    try #require(cycle(of: before) == ["before", "behind", "before"])
    try await queue.untilAllOperationsAreFinished()
    #expect(!behind.isCancelled)
  }

  @Test func `a barrier cycle through an unqueued operation ends when that is added`() async throws
  {
    let between = Self.named("between")
    before.addDependency(between)
    queue.addOperation(before)
    queue.addBarrierBlock {}
    queue.addOperation(behind)
    between.addDependency(behind)
    elsewhere.addOperation(between)
    for queue in [queue, elsewhere] { try await queue.untilAllOperationsAreFinished() }
    #expect(cycle(of: between) == ["between", "behind", "before", "between"])
    #expect(!before.isCancelled && !behind.isCancelled)
  }

  @Test func `a barrier cycle is found through several barriers`() async throws {
    let middle = Self.named("middle")
    before.addDependency(behind)
    queue.addOperation(before)
    queue.addBarrierBlock {}
    queue.addOperation(middle)
    queue.addBarrierBlock {}
    queue.addBarrierBlock {}
    queue.addOperation(behind)
    try await queue.untilAllOperationsAreFinished()
    #expect(cycle(of: behind) == ["behind", "before", "behind"])
    #expect(!before.isCancelled && !middle.isCancelled)
  }

  @Test func `a barrier cycle behind another barrier ends`() async throws {
    queue.isSuspended = true
    queue.addOperation(BlockOperation {})
    queue.addBarrierBlock {}
    before.addDependency(behind)
    queue.addOperation(before)
    queue.addBarrierBlock {}
    queue.addOperation(behind)
    queue.isSuspended = false
    try await queue.untilAllOperationsAreFinished()
    #expect(cycle(of: behind) == ["behind", "before", "behind"])
    #expect(!before.isCancelled)
  }

  @Test func `a barrier cycle through the barriers of two queues ends`() async throws {
    let (other, behindOther) = (Self.named("other"), Self.named("behind other"))
    before.addDependency(behindOther)
    other.addDependency(behind)
    queue.addOperation(before)
    queue.addBarrierBlock {}
    elsewhere.addOperation(other)
    elsewhere.addBarrierBlock {}
    queue.addOperation(behind)
    elsewhere.addOperation(behindOther)
    for queue in [queue, elsewhere] { try await queue.untilAllOperationsAreFinished() }
    #expect(
      cycle(of: behindOther) == ["behind other", "other", "behind", "before", "behind other"]
    )
    #expect(!before.isCancelled && !behind.isCancelled && !other.isCancelled)
  }

  @Test func `two waits in the barrier's direction or in other queues aren't a cycle`() async throws
  {
    let free = Self.named("free")
    before.addDependency(free)
    behind.addDependency(before)
    queue.addOperation(before)
    queue.addBarrierBlock {}
    queue.addOperation(behind)
    elsewhere.addBarrierBlock {}
    elsewhere.addOperation(free)
    for queue in [queue, elsewhere] { try await queue.untilAllOperationsAreFinished() }
    for operation in [before, behind, free] { #expect(!operation.isCancelled) }
  }

  @Test func `a barrier cycle is found in a suspended queue`() async throws {
    queue.isSuspended = true
    before.addDependency(behind)
    queue.addOperation(before)
    queue.addBarrierBlock {}
    queue.addOperation(behind)
    #expect(cycle(of: behind) == ["behind", "before", "behind"])
    queue.isSuspended = false
    try await queue.untilAllOperationsAreFinished()
  }

  @Test func `a barrier cycle is found in any order on three threads`() async throws {
    for _ in 0..<Effort.rounds(500) {
      let queue = OperationQueue()
      let (before, behind) = (Self.named("before"), Self.named("behind"))
      let hold = BlockOperation {}
      // Keeps the first one from running before all three have been tried.
      before.addDependency(hold)
      queue.addOperation(before)
      await withTaskGroup { group in
        group.addTask { queue.addBarrierBlock {} }
        group.addTask { queue.addOperation(behind) }
        group.addTask { before.addDependency(behind) }
      }
      elsewhere.addOperation(hold)
      try await queue.untilAllOperationsAreFinished()
      #expect(before.isFinished && behind.isFinished)
    }
  }

  @Test func `very many barriers with operations between them are searched quickly`() async throws {
    queue.isSuspended = true
    let last = BlockOperation {}
    for _ in 0..<Effort.size(20_000) {
      queue.addOperation(BlockOperation {})
      queue.addBarrierBlock {}
    }
    queue.addOperation(last)
    queue.isSuspended = false
    try await queue.untilAllOperationsAreFinished()
    #expect(last.isFinished && !last.isCancelled)
  }

  // In a separate process: if a needed operation is behind a barrier of any queue, as in other tests, each of
  // these dependencies is searched.
  @Test func `a long chain in front of a barrier is searched quickly`() async {
    await #expect(processExitsWith: .success) {
      let (queue, behind) = (OperationQueue(), BlockOperation {})
      queue.isSuspended = true
      let chain = (0..<2_000).map { _ in BlockOperation {} }
      queue.addOperations(chain)
      queue.addBarrierBlock {}
      queue.addOperation(behind)
      for (next, previous) in zip(chain.dropFirst(), chain) { next.addDependency(previous) }
      queue.isSuspended = false
      try await queue.untilAllOperationsAreFinished()
      #expect(chain.allSatisfy { !$0.isCancelled })
    }
  }
}
