import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import TestSupport
import Testing

/// Immediate conditions are evaluated again when the operation has its claims.
@Suite struct `After a wait for a claim` {
  /// A holder, and one that waits for it with a condition that a test can change.
  private struct Pair {
    let world: World
    let holder = Work.open("holder")
    let waiter = Work("waiter")
    let answer = Changing(OperationConditionResult.satisfied)
    let asked = Counter()

    init(seed: UInt64, byHand: Bool = false, wrap: (Immediate) -> any OperationCondition = { $0 }) {
      world = World(seed: seed)
      holder.addClaim(MutuallyExclusive("a"))
      world.run(holder)
      let (answer, asked) = (answer, asked)
      waiter.addCondition(
        wrap(
          Immediate { _ in
            asked.add()
            return answer.value
          }
        )
      )
      waiter.addClaim(MutuallyExclusive("a"))
      if byHand {
        waiter.environment = world.simulation.environment
        waiter.start()
        world.simulation.run()
      } else {
        world.run(waiter)
      }
    }

    func release() {
      holder.finish()
      world.simulation.run()
    }
  }

  @Test(arguments: seeds, [false, true])
  func `an operation executes if its conditions are still satisfied after the wait`(
    seed: UInt64,
    byHand: Bool
  ) {
    let pair = Pair(seed: seed, byHand: byHand)
    #expect(pair.asked.count == 1)
    pair.release()
    #expect(pair.asked.count == 2)
    #expect(pair.waiter.kind == .succeeded)
  }

  @Test(arguments: seeds, [false, true])
  func `a condition that fails after the wait prevents the operation`(seed: UInt64, byHand: Bool) {
    let pair = Pair(seed: seed, byHand: byHand)
    pair.answer.value = .failed(Flaw(1))
    pair.release()
    #expect(pair.waiter.kind == .failed)
    #expect(pair.waiter.flawNumbers == [1])
    #expect(!pair.waiter.didExecute)
    // And it holds nothing.
    let next = Work()
    next.addClaim(MutuallyExclusive("a", whenBusy: .fail))
    pair.world.run(next)
    #expect(next.kind == .succeeded)
  }

  @Test(arguments: [false, true])
  func `a condition that skips after the wait skips the operation`(byHand: Bool) {
    let pair = Pair(seed: 1, byHand: byHand)
    pair.answer.value = .skipped(reason: "late")
    pair.release()
    #expect(pair.waiter.kind == .skipped)
    #expect(!pair.waiter.didExecute)
  }

  @Test(arguments: [false, true])
  func `a negated immediate condition is evaluated again after the wait`(byHand: Bool) {
    let pair = Pair(seed: 1, byHand: byHand) { NegatedCondition($0 && Immediate()) }
    #expect(pair.waiter.kind == .failed, "the opposite held")
    let other = Pair(seed: 1, byHand: byHand) {
      NegatedCondition(NegatedCondition($0) && Immediate())
    }
    #expect(other.asked.count == 1)
    other.answer.value = .failed(Flaw(1))
    other.release()
    #expect(other.asked.count == 2)
    #expect(other.waiter.kind == .failed)
    pair.release()
  }

  @Test func `conditions that aren't immediate aren't evaluated again`() {
    let world = World()
    let holder = Work.open()
    holder.addClaim(MutuallyExclusive("a"))
    world.run(holder)
    let probe = ConditionProbe()
    probe.answer(.satisfied)
    let waiter = Work()
    waiter.addCondition(probe)
    waiter.addCondition(Immediate())
    waiter.addClaim(MutuallyExclusive("a"))
    world.run(waiter)
    holder.finish()
    world.simulation.run()
    #expect(probe.evaluationCount == 1)
    #expect(waiter.kind == .succeeded)
  }

  @Test func `an operation that didn't wait for its claim evaluates its condition twice`() {
    let world = World()
    let asked = Counter()
    let work = Work()
    work.addCondition(
      Immediate { _ in
        asked.add()
        return .satisfied
      }
    )
    work.addClaim(MutuallyExclusive("a"))
    world.run(work)
    #expect(asked.count == 2)
  }

  @Test(arguments: seeds)
  func `a cancel during reevaluation leaves the claim to the next operation`(seed: UInt64) {
    let pair = Pair(seed: seed) { inner in
      Immediate("cancels") { operation in
        let result = inner.check(operation)
        if !result.isSatisfied { operation.cancel() }
        return .satisfied
      }
    }
    let next = Work("next")
    next.addClaim(MutuallyExclusive("a"))
    pair.world.run(next)
    pair.answer.value = .failed(Flaw(1))
    pair.release()
    #expect(pair.waiter.kind == .cancelled)
    #expect(!pair.waiter.didExecute)
    #expect(next.kind == .succeeded)
  }
}
