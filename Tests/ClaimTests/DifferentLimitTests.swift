import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import Testing

@Suite struct `Different limits of one category` {
  private static func claiming(_ name: String, limit: Int, _ busy: WhenBusy = .wait) -> Work {
    Work.claiming(name, MutuallyExclusive("a", limit: limit, whenBusy: busy))
  }

  @Test func `no operation starts next to a holder with the limit 1`() {
    let world = World()
    let alone = Self.claiming("alone", limit: 1)
    let others = (0..<2).map { Self.claiming("other \($0)", limit: 3) }
    world.run(alone)
    for other in others { world.run(other) }
    #expect(alone.isExecuting)
    #expect(others.map(\.didExecute) == [false, false])
    alone.finish()
    world.simulation.run()
    #expect(others.map(\.isExecuting) == [true, true])
    world.finishAll(others)
  }

  @Test
  func `an operation with the limit 1 waits until it is alone`() {
    let world = World()
    let first = (0..<2).map { Self.claiming("first \($0)", limit: 3) }
    let alone = Self.claiming("alone", limit: 1)
    let late = Self.claiming("late", limit: 3)
    for work in first + [alone, late] { world.run(work) }
    #expect(first.allSatisfy { $0.isExecuting })
    #expect(!alone.didExecute && !late.didExecute)
    first[0].finish()
    world.simulation.run()
    #expect(!alone.didExecute && !late.didExecute)
    first[1].finish()
    world.simulation.run()
    #expect(alone.isExecuting && !late.didExecute)
    world.finishAll([alone, late])
    #expect(late.kind == .succeeded)
  }

  @Test func `the strictest limit of the holders applies until its holder leaves`() {
    let world = World()
    let two = Self.claiming("two", limit: 2)
    let four = (0..<4).map { Self.claiming("four \($0)", limit: 4) }
    world.run(two)
    for work in four { world.run(work) }
    #expect(four.count { $0.isExecuting } == 1)
    two.finish()
    world.simulation.run()
    #expect(four.count { $0.isExecuting } == 4)
    world.finishAll(four)
  }

  @Test func `a claim that must not wait is refused because of another holder's limit`() {
    let world = World()
    let alone = Self.claiming("alone", limit: 1)
    let fails = Self.claiming("fails", limit: 3, .fail)
    let skips = Self.claiming("skips", limit: 3, .skip)
    for work in [alone, fails, skips] { world.run(work) }
    #expect(fails.claimError == .busy(holders: ["alone"]))
    #expect(skips.kind == .skipped)
    world.finishAll([alone])
  }

  @Test(arguments: seeds)
  func `a reader never runs at the same time as a writer`(seed: UInt64) {
    let world = World(seed: seed)
    let (readers, writers) = (Counter(), Counter())
    let violations = Counter()
    var random = Random(seed)
    let works = (0..<30).map { number in
      let isWriter = Int.random(in: 0..<3, using: &random) == 0
      let work = ResultOperation(name: "w\(number)") {
        let (own, limit) = isWriter ? (writers, 1) : (readers, 4)
        own.add()
        await Task.yield()
        if readers.count + writers.count > limit { violations.add() }
        if writers.count > 0, readers.count > 0 { violations.add() }
        await Task.yield()
        own.add(-1)
      }
      work.addClaim(MutuallyExclusive("a", limit: isWriter ? 1 : 4))
      return work
    }
    world.queue.addOperations(works)
    world.simulation.run()
    #expect(works.allSatisfy { $0.kind == .succeeded })
    #expect(violations.count == 0)
  }

  @Test func `children of a group with the limit 1 enter one at a time`() {
    let world = World()
    let children = (0..<3).map { Self.claiming("c\($0)", limit: 3) }
    let group = GroupOperation(name: "group") { children }
    group.addClaim(MutuallyExclusive("a"))
    world.run(group)
    #expect(children.count { $0.isExecuting } == 1)
    world.finishAll(children)
    #expect(group.kind == .succeeded)
  }

  /// The group waits for the outer operation, so only the strict child's end can let that in.
  @Test func `a strict holder completes no cycle if its end suffices`() {
    let world = World()
    let strict = Self.claiming("strict", limit: 1)
    let outer = Self.claiming("outer", limit: 3)
    let last = Work("last")
    last.addDependency(outer)
    let group = GroupOperation(name: "group") {
      strict
      last
    }
    group.addClaim(MutuallyExclusive("a", limit: 3))
    world.run(group)
    world.run(outer)
    #expect(strict.isExecuting)
    #expect(outer.state == .ready && outer.errors.isEmpty)
    strict.finish()
    world.simulation.run()
    #expect(outer.isExecuting)
    world.finishAll([outer])
    #expect(group.kind == .succeeded)
  }
}
