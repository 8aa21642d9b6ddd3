import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import Testing

@Suite struct `Combined conditions` {
  private static let results: [OperationConditionResult] = [
    .satisfied, .failed(Flaw(1)), .skipped(reason: "no need"),
  ]

  private static func conditions(
    _ results: [OperationConditionResult],
    _ isImmediate: Bool,
    _ asked: Log<Int>
  ) -> [any OperationCondition] {
    results.enumerated().map { index, result in
      if isImmediate {
        return Immediate("c\(index)") { _ in
          asked.add(index)
          return result
        }
      }
      return Asked("c\(index)") { _ in
        asked.add(index)
        return result
      }
    }
  }

  @Test(arguments: 0..<9, [false, true])
  func `a conjunction evaluates its parts in order until one isn't satisfied`(
    pair: Int,
    isImmediate: Bool
  ) async {
    let results = [Self.results[pair / 3], Self.results[pair % 3]]
    let asked = Log<Int>()
    let pieces = Self.conditions(results, isImmediate, asked)
    let result = await evaluate(pieces[0] && pieces[1], for: Work())
    let stops = !results[0].isSatisfied
    #expect(asked.entries == (stops ? [0] : [0, 1]))
    let deciding = stops ? results[0] : results[1]
    #expect(result.isSatisfied == deciding.isSatisfied)
    #expect(flaws(result.errors) == flaws(deciding.errors))
    if let error = result.errors.first {
      #expect((error as? OperationConditionError)?.condition == (stops ? "c0" : "c1"))
    }
  }

  @Test(arguments: 0..<9, [false, true])
  func `a disjunction evaluates its parts in order until one is satisfied`(
    pair: Int,
    isImmediate: Bool
  ) async {
    let results = [Self.results[pair / 3], Self.results[pair % 3]]
    let asked = Log<Int>()
    let pieces = Self.conditions(results, isImmediate, asked)
    let result = await evaluate(pieces[0] || pieces[1], for: Work())
    #expect(asked.entries == (results[0].isSatisfied ? [0] : [0, 1]))
    let failures = results.flatMap(\.errors)
    if results.contains(where: { $0.isSatisfied }) {
      #expect(result.isSatisfied)
    } else if failures.isEmpty {
      guard case .skipped = result else {
        Issue.record("\(result)")
        return
      }
    } else {
      let error = result.errors.first as? AnyOf.NoneHolds
      #expect(error?.failures.count == failures.count, "every failure is carried")
    }
  }

  @Test func `an empty conjunction is satisfied and an empty disjunction isn't`() async {
    #expect(await evaluate(AllOf([]), for: Work()).isSatisfied)
    #expect(await evaluate(AnyOf([]), for: Work()).errors.first is AnyOf.NoneHolds)
  }

  @Test func `a silent condition is evaluated without its prerequisite`() async {
    let inner = Asked("inner", prerequisite: { _ in Work() }) { _ in .failed(Flaw(4)) }
    let silent = SilentCondition(inner)
    #expect(silent.dependency(for: Work()) == nil)
    #expect(silent.name == "inner")
    #expect(flaws(await evaluate(silent, for: Work()).errors) == [4])
  }

  @Test(arguments: seeds)
  func `the prerequisites of a compound condition run before any part is evaluated`(seed: UInt64) {
    let world = World(seed: seed)
    let log = Log<String>()
    let conditions = (1...2).map { number in
      Asked("c\(number)") { _ in
        Work("h\(number)") {
          log.add("prerequisite")
          $0.finish()
        }
      } answer: { _ in
        log.add("asked")
        return .satisfied
      }
    }
    let work = Work()
    work.addCondition(conditions[0] && conditions[1])
    world.run(work)
    #expect(log.entries == ["prerequisite", "prerequisite", "asked", "asked"])
    #expect(work.kind == .succeeded)
  }

  @Test func `a compound condition accepts queued and shared prerequisites`() {
    let world = World()
    let other = world.makeQueue()
    let queued = Work.open("queued")
    let shared = Work("shared")
    other.addOperation(queued)
    let asked = Counter()
    let pieces = [queued, shared, shared].map { prerequisite in
      Asked(prerequisite: { _ in prerequisite }) { _ in
        asked.add()
        return .satisfied
      }
    }
    let work = Work()
    work.addCondition(AllOf(pieces))
    world.run(work)
    #expect(asked.count == 0)
    queued.finish()
    world.simulation.run()
    #expect(shared.executions.count == 1)
    #expect(asked.count == 3)
    #expect(work.kind == .succeeded)
  }

  private static func no(_ name: String) -> any OperationCondition {
    Immediate(name, always: .failed(Flaw(1)))
  }

  @Test func `compound conditions are named after their parts in brackets`() {
    let (a, b, c) = (Self.no("a"), Self.no("b"), Self.no("c"))
    #expect((a && b && c).name == "a and b and c")
    #expect(((a || b) && c).name == "(a or b) and c")
    #expect((a || b && c).name == "a or (b and c)")
    #expect((!(a || b)).name == "not (a or b)")
    #expect((!a && b).name == "not a and b")
    #expect(SilentCondition(a && b).name == "a and b")
  }

  @Test func `compound conditions print their unsatisfied parts as a tree`() {
    let (a, b, c) = (Self.no("a"), Self.no("b"), Self.no("c"))
    func tree(_ condition: any OperationCondition) -> String {
      let world = World()
      let work = Work()
      work.addCondition(condition)
      world.run(work)
      return work.outcome?.failure?.description ?? ""
    }
    #expect(
      tree(a && b) == """
        condition “a and b”
          condition “a”: flaw 1
        """
    )
    #expect(
      tree((a || b) && c) == """
        condition “(a or b) and c”
          condition “a or b”
            condition “a”: flaw 1
            condition “b”: flaw 1
        """
    )
    #expect(
      tree(AnyOf([])) == "condition “none of nothing”: The list of conditions is empty."
    )
    #expect(tree(a) == "condition “a”: flaw 1")
    let error = OperationConditionError(
      condition: "a and b",
      underlying: OperationConditionError(condition: "a", underlying: Flaw(1))
    )
    #expect("\(error)" == "condition “a and b”, because of condition “a”: flaw 1")
  }
}
