import AdvancedOperations
import AdvancedTestSupport
import TestSupport
import Testing

/// The model is as strict as it should be.
@Suite(.heavy) struct `The reference model` {
  private typealias Event = ReferenceModel.Event

  private static func problems(
    _ plans: [ReferenceModel.Plan],
    limit: Int = -1,
    _ events: [Event]
  ) -> [String] {
    let queues = [ReferenceModel.Queue(limit: limit)]
    return RandomWorkflow.Story(plans: plans, queues: queues, events: events).problems
  }

  private static func whole(
    _ number: Int,
    _ ending: ReferenceModel.Ending = .succeeded
  ) -> [Event] {
    [
      .told(number, "started"), .told(number, "willFinish"),
      .finished(number, ending, errorCount: ending == .succeeded ? 0 : 1), .idle(number),
    ]
  }

  private static let plan = ReferenceModel.Plan()

  private static func plan(
    _ change: (inout ReferenceModel.Plan) -> Void
  ) -> ReferenceModel.Plan {
    var plan = plan
    change(&plan)
    return plan
  }

  @Test func `the reference model allows a correct run`() {
    let second = Self.plan { $0.dependencies = [0] }
    #expect(Self.problems([Self.plan, second], Self.whole(0) + Self.whole(1)).isEmpty)
  }

  @Test func `the reference model refuses a start before a dependency, twice or never`() {
    let second = Self.plan { $0.dependencies = [0] }
    #expect(Self.problems([Self.plan, second], Self.whole(1) + Self.whole(0)).count == 1)
    #expect(Self.problems([Self.plan], Self.whole(0) + Self.whole(0)).count == 2)
    #expect(Self.problems([Self.plan], []) == ["0 never ended"])
  }

  @Test func `the reference model refuses more executions than a limit allows`() {
    let both: [Event] = [.told(0, "started"), .told(1, "started")]
    let ends: [Event] = [
      .told(0, "willFinish"), .finished(0, .succeeded, errorCount: 0), .idle(0),
      .told(1, "willFinish"), .finished(1, .succeeded, errorCount: 0), .idle(1),
    ]
    #expect(Self.problems([Self.plan, Self.plan], limit: 2, both + ends).isEmpty)
    #expect(Self.problems([Self.plan, Self.plan], limit: 1, both + ends).count == 1)
  }

  private static func claiming(
    _ limit: Int = 1,
    busy: ReferenceModel.Busy = .wait
  ) -> ReferenceModel.Plan {
    plan { $0.claims = [.init(name: "a", limit: limit, busy: busy)] }
  }

  /// The rest of a run that has its claims.
  private static func granted(_ number: Int) -> [Event] {
    [
      .told(number, "started"), .told(number, "willFinish"),
      .finished(number, .succeeded, errorCount: 0), .claims(number, .givenBack), .idle(number),
    ]
  }

  @Test func `the reference model refuses more holders than a claim allows`() {
    let both: [Event] = [.claims(0, .taken), .claims(1, .taken)]
    let rest = Self.granted(0) + Self.granted(1)
    #expect(Self.problems([Self.claiming(2), Self.claiming(2)], both + rest).isEmpty)
    // The strictest limit decides, whichever of them has it and whichever is told of its start
    // first.
    let turned = Self.granted(1) + Self.granted(0)
    for order in [rest, turned] {
      #expect(
        Self.problems([Self.claiming(1), Self.claiming(2)], both + order)
          == ["1 entered “a” beside [0], for 1"]
      )
    }
    #expect(
      Self.problems([Self.claiming(2), Self.claiming(1)], both + rest)
        == ["1 entered “a” beside [0], for 1"]
    )
  }

  @Test func `the reference model refuses starts without claims and lost claims`() {
    let plan = Self.claiming()
    #expect(Self.problems([plan], Self.whole(0)) == ["0 started without its claims"])
    let taken: [Event] = [.claims(0, .taken), .told(0, "started")]
    let lost: [Event] = taken + [.claims(0, .givenBack), .claims(1, .taken)]
    #expect(
      Self.problems([plan, plan], lost).prefix(2)
        == ["0 lost its claims before its end", "1 entered “a” beside [0], for 1"]
    )
    let kept = taken + Self.whole(0).dropFirst()
    #expect(Self.problems([plan], kept) == ["0 kept its claims"])
  }

  @Test func `the reference model refuses to let later claimants overtake a waiting one`() {
    let plans = [Self.claiming(), Self.claiming(), Self.claiming()]
    let waits: [Event] = [.claims(0, .taken), .claims(1, .waits), .claims(2, .waits)]
    let first = waits + Self.granted(0)
    let second: [Event] = [.claims(1, .taken)] + Self.granted(1)
    let third: [Event] = [.claims(2, .taken)] + Self.granted(2)
    #expect(Self.problems(plans, first + second + third).isEmpty)
    #expect(
      Self.problems(plans, first + third + second)
        == ["2 overtook 1, which waited for “a” before"]
    )
    // Conditions that are asked again take nobody's turn.
    let asked = Self.plan { plan in
      plan.claims = Self.claiming().claims
      plan.verdicts = [.satisfied]
    }
    #expect(Self.problems([plans[0], asked, plans[2]], first + third + second).count == 1)
    // Its queue may be full.
    #expect(Self.problems(plans, limit: 1, first + third + second).isEmpty)
  }

  @Test func `the reference model allows a claim to be taken over from its holder`() {
    let events: [Event] = [
      .claims(0, .taken), .claims(1, .waits), .told(0, "cancelled"), .told(0, "willFinish"),
      .finished(0, .cancelled, errorCount: 1), .claims(0, .givenBack), .idle(0),
      .claims(1, .taken),
    ]
    let whole = events + Self.granted(1)
    #expect(Self.problems([Self.claiming(), Self.claiming(busy: .cancelHolder)], whole).isEmpty)
    #expect(
      Self.problems([Self.claiming(), Self.claiming()], whole) == ["0 was cancelled by nobody"]
    )
  }

  @Test func `the reference model allows a claim to refuse only while it is busy`() {
    let plans = [Self.claiming(), Self.claiming(busy: .skip)]
    let refused: [Event] = [
      .told(1, "willFinish"), .finished(1, .skipped, errorCount: 0), .idle(1),
    ]
    let taken: [Event] = [.claims(0, .taken)]
    #expect(Self.problems(plans, taken + refused + Self.granted(0)).isEmpty)
    #expect(
      Self.problems(plans, refused + taken + Self.granted(0))
        == ["1 is skipped, and may be []"]
    )
  }

  @Test func `the reference model lets failing claims decide before skipping ones`() {
    let both = Self.plan { plan in
      plan.claims = ["a", "b"].map { .init(name: $0, limit: 1, busy: $0 == "a" ? .skip : .fail) }
    }
    let holder = Self.plan { plan in
      plan.claims = ["a", "b"].map { .init(name: $0, limit: 1, busy: .wait) }
    }
    func ended(_ ending: ReferenceModel.Ending) -> [String] {
      let count = ending == .failed ? 1 : 0
      let refused: [Event] = [
        .told(1, "willFinish"), .finished(1, ending, errorCount: count), .idle(1),
      ]
      let events: [Event] = [.told(1, "enqueued"), .claims(0, .taken)]
      return Self.problems([holder, both], events + refused + Self.granted(0))
    }
    #expect(ended(.failed).isEmpty)
    #expect(ended(.skipped) == ["1 is skipped, and may be [\"failed\"]"])
  }

  @Test func `the reference model counts a claim holder's slot before its start`() {
    let plans = [Self.claiming(), Self.plan]
    let events: [Event] = [.claims(0, .taken)] + Self.whole(1) + Self.granted(0)
    #expect(
      Self.problems(plans, limit: 1, events).contains("1 started beside [0], the limit is 1")
    )
  }

  @Test func `the reference model refuses an unexplained outcome`() {
    #expect(Self.problems([Self.plan], Self.whole(0, .failed)).count == 1)
    #expect(Self.problems([Self.plan], Self.whole(0, .cancelled)).count == 1)
    let failing = Self.plan { $0.verdicts = [.failed] }
    #expect(Self.problems([failing], Self.whole(0)).count == 1)
    #expect(Self.problems([failing], [.finished(0, .failed, errorCount: 1)]).isEmpty)
    #expect(Self.problems([failing], [.finished(0, .failed, errorCount: 2)]).count == 1)
    #expect(Self.problems([Self.plan], [.finished(0, .skipped, errorCount: 0)]).count == 1)
  }

  @Test func `the reference model accepts a cancel until the end is decided`() {
    let before: [Event] = [
      .cancelCalled(0), .told(0, "cancelled"), .finished(0, .cancelled, errorCount: 0),
    ]
    #expect(Self.problems([Self.plan], before).isEmpty)
    #expect(Self.problems([Self.plan], [.told(0, "cancelled")] + before.suffix(1)).count == 1)
    let late: [Event] = [
      .told(0, "started"), .told(0, "willFinish"), .cancelCalled(0),
      .finished(0, .cancelled, errorCount: 0),
    ]
    #expect(Self.problems([Self.plan], late).count == 1)
  }

  @Test func `the reference model refuses to let less urgent operations overtake`() {
    let urgent = Self.plan { $0.priority = 4 }
    #expect(
      Self.problems(
        [Self.plan, Self.plan, urgent],
        limit: 1,
        Self.whole(0) + Self.whole(1)
          + Self.whole(2)
      ).count == 1
    )
    #expect(
      Self.problems([urgent, Self.plan], limit: 1, Self.whole(0) + Self.whole(1)).isEmpty
    )
  }
}
