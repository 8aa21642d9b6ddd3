import AdvancedOperations
import AdvancedTestSupport
import TestSupport
import Testing

/// Long workflows need no deep stack, whether they ran or not.
@Suite(.heavy, .serialized) struct `AdvancedStress: size` {
  private static let stackSize = 512 * 1_024

  @Test func `a long unexecuted chain of results is released on a small stack`() async {
    await CoreStress.onThread(stackSize: Self.stackSize) {
      var last = ResultOperation { 0 }
      for _ in 0..<CoreStress.scaled(100_000) { last = last.then { $0 + 1 } }
    }
  }

  @Test func `a long chain of results runs and is released on a small stack`() async throws {
    let length = CoreStress.scaled(20_000)
    let last = await CoreStress.onThread(stackSize: Self.stackSize) {
      var last = ResultOperation { 0 }
      var all: [AdvancedOperation] = [last]
      for _ in 0..<length {
        last = last.then { $0 + 1 }
        all.append(last)
      }
      AdvancedOperationQueue().addOperations(all)
      return last
    }
    #expect(try await last.value == length)
  }

  @Test func `a long chain with conditions, observers and claims runs`() async throws {
    let live = CoreStress.Live()
    let count = CoreStress.scaled(20_000)
    let queue = AdvancedOperationQueue(
      environment: OperationEnvironment(claimDomain: ClaimDomain())
    )
    let ends = CoreStress.Tally()
    var last: AdvancedOperation?
    var all: [AdvancedOperation] = []
    for _ in 0..<count {
      let work = AdvancedStress.Work(live, .finishes)
      if let last { work.addDependency(last) }
      work.addCondition(NoFailedDependencies())
      work.addClaim(MutuallyExclusive("a"))
      work.onFinish { _, _ in ends.add() }
      all.append(work)
      last = work
    }
    queue.addOperations(all)
    (last, all) = (nil, [])
    try await queue.untilAllOperationsAreFinished()
    #expect(ends.now == count)
    await live.ended()
  }

  @Test func `a group of very many children finishes`() async throws {
    let live = CoreStress.Live()
    let group = GroupOperation {
      for _ in 0..<CoreStress.scaled(20_000) { AdvancedStress.Work(live, .finishes) }
    }
    AdvancedOperationQueue().addOperation(group)
    try await group.untilFinished()
    #expect(group.outcome?.isSuccess == true)
    #expect(group.children.allSatisfy { $0.isFinished })
  }
}
