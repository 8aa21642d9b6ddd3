import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import Testing

@Suite struct `A claim of one's own` {
  private struct Device: OperationClaim {
    let name: String
    let requests: [ClaimRequest]

    init(_ name: String, _ claims: any OperationClaim...) {
      self.name = name
      requests = claims.flatMap(\.requests)
    }
  }

  @Test func `a custom claim takes all claims that it is composed of`() {
    let world = World()
    let pool = world.pool(2)
    let device = Device("device", MutuallyExclusive("lens"), ResourceUnits(1, of: pool))
    let work = Work.claiming("work", device)
    let lens = Work.claiming("lens", MutuallyExclusive("lens", whenBusy: .skip))
    let unit = Work.claiming("unit", ResourceUnits(1, of: pool, whenBusy: .skip))
    let units = Work.claiming("units", ResourceUnits(1, of: pool, whenBusy: .skip))
    for work in [work, lens, unit, units] { world.run(work) }
    #expect(lens.kind == .skipped)
    #expect(unit.isExecuting)
    #expect(units.kind == .skipped)
    world.finishAll([work, unit])
  }

  @Test func `errors name the custom claim instead of its parts`() {
    let world = World()
    let holder = Work.claiming("holder", MutuallyExclusive("lens"))
    let work = Work.claiming("work", Device("device", MutuallyExclusive("lens", whenBusy: .fail)))
    world.run(holder)
    world.run(work)
    #expect(work.origins == [.condition("device")])
    world.finishAll([holder])
  }

  @Test func `a claim without requests is always free`() {
    let world = World()
    let work = Work.claiming("work", Device("nothing"))
    world.run(work)
    #expect(work.isExecuting)
    world.finishAll([work])
  }

  @Test func `the requests of a claim are read once when it is attached`() {
    struct Counting: OperationClaim {
      let asked: Counter
      var name: String { "counting" }
      var requests: [ClaimRequest] {
        asked.add()
        return MutuallyExclusive("a").requests
      }
    }
    let world = World()
    let asked = Counter()
    let work = Work.claiming("work", Counting(asked: asked))
    #expect(asked.count == 1)
    world.run(work)
    world.finishAll([work])
    #expect(asked.count == 1)
  }
}
