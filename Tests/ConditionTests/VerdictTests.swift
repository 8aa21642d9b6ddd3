import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import TestSupport
import Testing

@Suite struct `The combined result of several conditions` {
  @Test(arguments: seeds)
  func `three failing conditions cause three errors in attach order`(seed: UInt64) {
    let world = World(seed: seed)
    let probe = ConditionProbe()
    let work = Work()
    work.addCondition(probe)
    work.addCondition(Immediate("second", always: .failed(Flaw(2))))
    work.addCondition(Asked("third") { _ in .failed(Flaw(3)) })
    world.run(work)
    #expect(work.outcome == nil)
    probe.answer(.failed(Flaw(1)))
    world.simulation.run()
    #expect(work.kind == .failed)
    #expect(work.flawNumbers == [1, 2, 3])
    #expect(
      work.origins == [.condition("probe"), .condition("second"), .condition("third")]
    )
    #expect(!work.didExecute)
    #expect(work.hooks.entries == ["finished [1, 2, 3]"])
  }

  @Test func `each error names its condition`() throws {
    let world = World()
    let work = Work()
    work.addCondition(Immediate("weather", always: .failed(Flaw(1))))
    world.run(work)
    let error = try #require(work.errors.first as? OperationConditionError)
    #expect(error.condition == "weather")
    #expect(error.underlying as? Flaw == Flaw(1))
  }

  /// What two conditions say, and what follows; either way round.
  static let pairs: [(OperationConditionResult, OperationConditionResult, Kind)] = [
    (.satisfied, .satisfied, .succeeded),
    (.satisfied, .skipped(reason: "a"), .skipped),
    (.satisfied, .failed(Flaw(1)), .failed),
    (.skipped(reason: "a"), .skipped(reason: "a"), .skipped),
    (.skipped(reason: "a"), .failed(Flaw(1)), .failed),
    (.failed(Flaw(1)), .failed(Flaw(1)), .failed),
  ]

  @Test(arguments: pairs.indices, [false, true])
  func `a failed condition overrides skipped and a skipped one overrides satisfied`(
    pair: Int,
    isImmediate: Bool
  ) {
    let (first, second, kind) = Self.pairs[pair]
    for results in [[first, second], [second, first]] {
      let world = World()
      let work = Work()
      for result in results {
        if isImmediate {
          work.addCondition(Immediate(always: result))
        } else {
          work.addCondition(Asked { _ in result })
        }
      }
      world.run(work)
      #expect(work.kind == kind)
      #expect(work.didExecute == (kind == .succeeded))
      #expect(work.errors.isEmpty == (kind != .failed))
      #expect(work.flawNumbers == results.flatMap { flaws($0.errors) })
    }
  }

  @Test func `the reason of the first skipped condition applies`() {
    let world = World()
    let work = Work()
    work.addCondition(Asked { _ in .skipped(reason: "first") })
    work.addCondition(Immediate(always: .skipped(reason: "second")))
    world.run(work)
    guard case .skipped(let reason) = work.outcome else {
      Issue.record("\(String(describing: work.outcome))")
      return
    }
    #expect(reason == "first")
  }

  @Test(arguments: seeds)
  func `an operation whose condition fails leaves without waiting for a slot`(seed: UInt64) {
    let world = World(seed: seed, limit: 1)
    let holder = Work.open()
    world.run(holder)
    let work = Work()
    work.addCondition(Immediate(always: .failed(Flaw(1))))
    world.run(work)
    #expect(work.state == .finished)
    #expect(holder.isExecuting)
  }

  @Test
  func `an operation with a failed condition waits for a dependency added during evaluation`() {
    let world = World()
    let probe = ConditionProbe()
    let late = Work.open()
    let work = Work()
    work.addCondition(probe)
    world.run(work, late)
    work.addDependency(late)
    probe.answer(.failed(Flaw(1)))
    world.simulation.run()
    #expect(work.state == .ready)
    late.finish()
    world.simulation.run()
    #expect(work.kind == .failed)
  }

  @Test func `conditions and claims of a cancelled operation are never evaluated`() {
    let world = World()
    let probe = ConditionProbe()
    let work = Work()
    work.cancel()
    work.addCondition(probe)
    work.addClaim(MutuallyExclusive("claim"))
    world.queue.addOperation(work)
    work.addCondition(probe)
    world.simulation.run()
    work.addCondition(probe)
    #expect(probe.evaluationCount == 0)
    #expect(work.kind == .cancelled)
  }
}
