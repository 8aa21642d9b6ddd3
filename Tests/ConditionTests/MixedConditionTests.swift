import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import Testing

/// Conditions that have immediate parts and others, when the operation has waited.
@Suite struct `A compound condition is evaluated again at the start` {
  /// The parts of a condition, each of which a test lets hold or not before and after the wait.
  private struct Parts {
    let immediate = Changing(true)
    let slow = Changing(true)
    let slowCount = Counter()

    var i: any OperationCondition {
      let immediate = immediate
      return Immediate("i") { _ in immediate.value ? .satisfied : .failed(Flaw(1)) }
    }

    var s: any OperationCondition {
      let (slow, slowCount) = (slow, slowCount)
      return Asked("s") { _ in
        slowCount.add()
        return slow.value ? .satisfied : .failed(Flaw(2))
      }
    }
  }

  enum Form: CaseIterable {
    case iAndS, sAndI, iOrS, sOrI, notIAndS, notSAndI, notIOrS, sAndIOrS, silent

    func condition(
      _ i: any OperationCondition,
      _ s: any OperationCondition
    ) -> any OperationCondition {
      switch self {
      case .iAndS: i && s
      case .sAndI: s && i
      case .iOrS: i || s
      case .sOrI: s || i
      case .notIAndS: !(i && s)
      case .notSAndI: !(s && i)
      case .notIOrS: !i || s
      case .sAndIOrS: s && (!i || !s || i)
      case .silent: SilentCondition(s && i)
      }
    }

    func holds(_ i: Bool, _ s: Bool) -> Bool {
      switch self {
      case .iAndS, .sAndI, .silent: i && s
      case .iOrS, .sOrI: i || s
      case .notIAndS, .notSAndI: !(i && s)
      case .notIOrS: !i || s
      case .sAndIOrS: s && (!i || !s || i)
      }
    }
  }

  /// The slow part keeps its answer, and the immediate one is evaluated again.
  ///
  /// If the slow part wasn't evaluated before the wait, the operation executes only if the whole
  /// holds whatever it is.
  @Test(arguments: Form.allCases, [(true, true), (true, false), (false, true), (false, false)])
  func `a compound condition is satisfied if the new immediate answers satisfy it`(
    form: Form,
    before: (i: Bool, s: Bool)
  ) {
    for after in [true, false] {
      let world = World(limit: 1)
      let parts = Parts()
      (parts.immediate.value, parts.slow.value) = before
      let holder = Work.open("holder")
      let work = Work("work")
      work.addCondition(form.condition(parts.i, parts.s))
      world.run(holder)
      world.run(work)
      let wasAsked = parts.slowCount.count > 0
      // What a slow part would answer now doesn't count.
      (parts.immediate.value, parts.slow.value) = (after, !before.s)
      holder.finish()
      world.simulation.run()
      let held = form.holds(before.i, before.s)
      let holdsNow =
        wasAsked
        ? form.holds(after, before.s) : form.holds(after, true) && form.holds(after, false)
      #expect(work.didExecute == (held && holdsNow), "\(form), \(before), \(after)")
      #expect(parts.slowCount.count <= (form == .sAndIOrS ? 2 : 1))
    }
  }

  @Test func `a condition of asynchronous parts keeps its answer next to an immediate one`() {
    let world = World(limit: 1)
    let parts = Parts()
    let holder = Work.open("holder")
    let work = Work("work")
    work.addCondition(parts.s && parts.s)
    work.addCondition(parts.i)
    world.run(holder)
    world.run(work)
    parts.slow.value = false
    holder.finish()
    world.simulation.run()
    #expect(work.didExecute)
    #expect(parts.slowCount.count == 2)
  }

  @Test func `the error of a compound condition names the part without an answer`() {
    let world = World(limit: 1)
    let parts = Parts()
    let holder = Work.open("holder")
    let work = Work("work")
    work.addCondition(parts.i || parts.s)
    world.run(holder)
    world.run(work)
    parts.immediate.value = false
    holder.finish()
    world.simulation.run()
    #expect(!work.didExecute)
    #expect("\(work.errors)".contains("“s” wasn't evaluated before the start"))
  }

  @Test func `a compound condition of thousands of parts is one level and satisfied`() {
    let world = World()
    let count = Counter()
    var all: any OperationCondition = Immediate()
    for _ in 0..<4_000 {
      all =
        all
        && Immediate { _ in
          count.add()
          return .satisfied
        }
    }
    let work = Work("work")
    work.addCondition(all)
    world.run(work)
    #expect(work.didExecute)
    #expect(count.count == 8_000)
  }
}
