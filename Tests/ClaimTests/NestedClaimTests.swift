import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import TestSupport
import Testing

/// Small programs, all that there are: a child in a group in a group, a sibling of the inner group
/// and a stranger, all of which claim the same; the sibling and the stranger end at some time.
@Suite(.watched) struct `Groups inside of groups that claim the same` {
  private struct Program {
    let world: World
    let outer, inner: GroupOperation
    let sibling = Work.open("sibling")
    let stranger = Work.open("stranger")
    let child = Work("child")

    /// A claim of nil is none.
    init(in world: World = World(), _ claims: [(any OperationClaim)?]) {
      self.world = world
      let (child, sibling) = (child, sibling)
      let inner = GroupOperation(name: "inner") { child }
      outer = GroupOperation(name: "outer") {
        sibling
        inner
      }
      self.inner = inner
      for (operation, claim) in zip([outer, sibling, inner, child, stranger], claims) {
        if let claim { operation.addClaim(claim) }
      }
    }

    private var all: [AdvancedOperation] { [outer, sibling, inner, child, stranger] }

    /// Runs it to its end; returns which have not ended.
    func run(andMeanwhile change: () -> Void = {}) -> [String] {
      world.run(stranger)
      world.run(outer)
      change()
      world.simulation.run()
      world.finishAll([stranger])
      world.finishAll([sibling])
      return all.filter { !$0.isFinished }.map { "\($0.debugDescription)" }
    }
  }

  /// Whatever the groups hold, there is no more than the pool has: what a group has lent to the
  /// next one counts once.
  @Test(arguments: 1...3)
  func `nested groups finish and have units up to the pool's capacity`(capacity: Int) {
    for units in tuples(of: [0...4, 0...2, 0...4, 1...5, 0...1]) {
      let world = World()
      let pool = world.pool(capacity)
      let program = Program(in: world, units.map { ResourceUnits($0, of: pool) })
      let open = program.run()
      #expect(open.isEmpty, "\(units) of \(capacity)")
      let (outer, inner, child) = (units[0], units[2], units[3])
      let isReached = outer <= capacity && inner <= capacity
      #expect(program.child.didExecute == (isReached && child <= capacity), "\(units)")
      if isReached && child > capacity {
        let error = OperationClaimError.exceedsCapacity(needed: child, capacity: capacity)
        #expect(program.child.claimError == error, "\(units) of \(capacity)")
      }
    }
  }

  @Test(arguments: 1...3, 0...3)
  func `nested groups finish however many units the pool has later`(capacity: Int, later: Int) {
    for units in tuples(of: [0...3, 0...1, 0...3, 1...4, 0...1]) {
      let world = World()
      let pool = world.pool(capacity)
      let program = Program(in: world, units.map { ResourceUnits($0, of: pool) })
      let open = program.run { pool.capacity = later }
      #expect(open.isEmpty, "\(units) of \(capacity), then \(later)")
    }
  }

  /// The inner group takes the turn in the place of the outer one, so there is room for a child that
  /// lets in nothing else.
  @Test func `nested groups finish however many operations each claim admits`() {
    for limits in tuples(of: Array(repeating: 0...3, count: 5)) {
      let claims = limits.map { $0 == 0 ? nil : MutuallyExclusive("place", limit: $0) }
      let program = Program(claims)
      let open = program.run()
      #expect(open.isEmpty, "\(limits)")
      #expect(program.child.didExecute, "\(limits)")
    }
  }

  private func tuples(of ranges: [ClosedRange<Int>]) -> [[Int]] {
    let all = ranges.reduce([[]]) { tuples, range in
      tuples.flatMap { tuple in range.map { tuple + [$0] } }
    }
    return Effort.some(all, every: 7)
  }
}
