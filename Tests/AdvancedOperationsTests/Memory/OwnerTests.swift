import AdvancedOperations
import AdvancedTestSupport
import TestSupport
import Testing

/// The usual owner of a queue cancels and waits in its `deinit`, and its last reference is often
/// what an operation of that queue holds.
@Suite(.watched, .needsThreadPool("a deinit blocks")) struct `An owner that waits in its deinit` {
  private final class Owner: Sendable {
    let queue: AdvancedOperationQueue
    private let atEnd: @Sendable (_ isEmpty: Bool) -> Void

    init(_ queue: AdvancedOperationQueue, atEnd: @escaping @Sendable (Bool) -> Void) {
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

  private final class Holder: AdvancedOperation, @unchecked Sendable {
    private let owner: Owner
    init(_ owner: Owner) {
      self.owner = owner
      super.init(name: "holder")
    }
    override func execute() {
      owner.touch()
      finish()
    }
  }

  private struct Flaw: Error {}

  /// What holds the owner last.
  enum Place: CaseIterable {
    case body, bodyThatSuspends, bodyWithRetry, bodyOfCancelled, bodyOfChild, transform
    case observer, observerOfSynchronous, condition, conditionThatSuspends, operation, rounds
    case completionBlock, rollback, prerequisite
  }

  private func operations(_ place: Place, holding owner: Owner) -> [AdvancedOperation] {
    let work = ResultOperation(name: "work") {}
    switch place {
    case .body: return [ResultOperation { owner.touch() }]
    case .bodyThatSuspends:
      return [
        ResultOperation {
          await Task.yield()
          owner.touch()
        }
      ]
    case .bodyWithRetry:
      return [
        ResultOperation<Void>(retry: .immediate.attempts(2)) {
          owner.touch()
          throw Flaw()
        }
      ]
    case .bodyOfCancelled:
      let work = ResultOperation { owner.touch() }
      work.cancel()
      return [work]
    case .bodyOfChild: return [GroupOperation(name: "group") { ResultOperation { owner.touch() } }]
    case .transform: return [work, work.then { owner.touch() }]
    case .observer:
      work.onFinish { _, _ in owner.touch() }
      return [work]
    case .observerOfSynchronous:
      let work = Work()
      work.onFinish { _, _ in owner.touch() }
      return [work]
    case .condition:
      work.addCondition(
        Immediate { _ in
          owner.touch()
          return .satisfied
        }
      )
      return [work]
    case .conditionThatSuspends:
      work.addCondition(
        BlockCondition("owner") {
          await Task.yield()
          owner.touch()
          return true
        }
      )
      return [work]
    case .operation: return [Holder(owner)]
    case .completionBlock:
      work.completionBlock = { owner.touch() }
      return [work]
    case .rollback:
      let failing = ResultOperation<Void> { throw Flaw() }
      failing.onRollback { owner.touch() }
      return [GroupOperation(name: "group") { failing }]
    case .prerequisite:
      work.addCondition(Asked("asked", prerequisite: { _ in ResultOperation { owner.touch() } }))
      return [work]
    case .rounds:
      return [
        RepeatOperation<Void>(times: 2) { _ in
          owner.touch()
          return ResultOperation {}
        }
      ]
    }
  }

  @Test(arguments: Place.allCases, [0, 3])
  func `an owner may wait for its queue in its deinit`(place: Place, behind: Int) async {
    for limit in [1, 2] {
      let queue = AdvancedOperationQueue(name: "queue")
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
        queue.addOperations(operations(place, holding: owner))
        for _ in 0..<behind { queue.addOperation(ResultOperation {}) }
        // One that was cancelled has let go of its owner by now.
        mayRun.open()
      }
      await isOver.opened()
      #expect(isEmpty.withLock { $0 } == true)
    }
  }

  /// A cancel that one of them makes may end what another one is held by, on the same thread.
  @Test(arguments: Place.allCases)
  func `many owners that an operation retains may wait in their deinits`(place: Place) async throws
  {
    for limit in [1, 2, -1] {
      for _ in 0..<Effort.rounds(30) {
        let queue = AdvancedOperationQueue(name: "queue")
        queue.maxConcurrentOperationCount = limit
        let left = Locked(5)
        let areOver = Latch()
        for _ in 0..<5 {
          let owner = Owner(queue) { _ in
            let isLast = left.withLock { left in
              left -= 1
              return left == 0
            }
            if isLast { areOver.open() }
          }
          queue.addOperations(operations(place, holding: owner))
        }
        await areOver.opened()
        try await queue.untilAllOperationsAreFinished()
      }
    }
  }
}
