import AdvancedOperations
import AdvancedTestSupport
import TestSupport
import Testing

/// Waits that code begins, and what has not begun when they complete a cycle, or don't.
@Suite(.watched) struct `Cycles through operations that have not begun` {
  private let queue = AdvancedOperationQueue()

  init() { queue.maxConcurrentOperationCount = 1 }

  /// Has an operation hold the slot of the queue, wait for another one when `mayBegin` opens, and
  /// end when `isOver` does.
  private func hold(
    waitingFor awaited: Operation,
    mayBegin: Latch,
    hasBegun: Latch,
    isOver: Latch
  ) {
    queue.addOperation(
      BlockOperation {
        mayBegin.pass()
        let token = try? OwnWaits.begin(for: .operation(awaited))
        hasBegun.open()
        isOver.pass()
        if let token { OwnWaits.end(token) }
      }
    )
  }

  @Test func `a late slot cycle through a manually started operation's prerequisite is found`()
    async throws
  {
    let (mayBegin, hasBegun, isOver) = (Latch(), Latch(), Latch())
    let (work, prerequisite, member) = (Work("work"), Work("prerequisite"), Work("member"))
    hold(waitingFor: work, mayBegin: mayBegin, hasBegun: hasBegun, isOver: isOver)
    queue.addOperation(member)
    prerequisite.addDependency(member)
    work.addCondition(
      Asked(prerequisite: { _ in
        mayBegin.open()
        hasBegun.pass()
        return prerequisite
      })
    )
    work.start()
    try await work.untilFinished()
    #expect(work.cancellationReason is OperationCycleError)
    isOver.open()
    try await queue.untilAllOperationsAreFinished()
  }

  @Test func `a group behind a slot cycle of other operations isn't cancelled`() async throws {
    let (mayBegin, hasBegun, isOver) = (Latch(), Latch(), Latch())
    let group = GroupOperation(name: "group") { Work("child") }
    hold(waitingFor: group, mayBegin: mayBegin, hasBegun: hasBegun, isOver: isOver)
    mayBegin.open()
    await hasBegun.opened()
    let (one, other) = (BlockOperation {}, BlockOperation {})
    one.addDependency(other)
    other.addDependency(one)
    group.addDependency(one)
    #expect(!group.isCancelled)
    other.removeDependency(one)
    let elsewhere = AdvancedOperationQueue()
    elsewhere.addOperations([group, one, other])
    try await elsewhere.untilAllOperationsAreFinished()
    #expect(group.outcome?.isSuccess == true)
    isOver.open()
    try await queue.untilAllOperationsAreFinished()
  }
}
