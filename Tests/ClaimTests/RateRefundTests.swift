import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import TestSupport
import Testing

/// A rate counts what starts, and not what was about to.
@Suite struct `A start that rates have counted` {
  private struct Wrong: Error { let what: String }

  private static let limit = RateLimit("calls", 1, per: .seconds(60))

  /// One has waited for a claim and gets it, with the only token; something comes in between.
  private static func run(
    _ simulation: SimulatedEnvironment,
    byHand: Bool = false,
    condition: any OperationCondition = Immediate(),
    between: @escaping @Sendable (Work) -> Void
  ) throws -> Work {
    let queue = AdvancedOperationQueue(environment: simulation.environment)
    let holder = Work.open("holder")
    holder.addClaim(MutuallyExclusive("a"))
    queue.addOperation(holder)
    simulation.run()
    let work = Work("work")
    work.addClaim(MutuallyExclusive("a"))
    work.addClaim(limit)
    work.addCondition(condition)
    if byHand {
      work.environment = simulation.environment
      work.start()
    } else {
      queue.addOperation(work)
    }
    simulation.run()
    simulation.addStep("finish") { holder.finish() }
    simulation.addStep("between") { between(work) }
    simulation.run()

    let other = Work("other")
    other.addClaim(RateLimit("calls", 1, per: .seconds(60), whenBusy: .fail))
    queue.addOperation(other)
    simulation.run()
    if other.didExecute == work.didExecute {
      throw Wrong(what: "\(work) and \(other) of one token")
    }
    return work
  }

  @Test func `a start is refunded if a dependency delays the operation`() throws {
    let heldBack = Counter()
    let report = try exploreSchedules { simulation in
      let late = Work("late")
      let work = try Self.run(simulation) { work in
        if !work.isExecuting && !work.isFinished { work.addDependency(late) }
      }
      if !work.didExecute { heldBack.add() }
      let queue = AdvancedOperationQueue(environment: simulation.environment)
      queue.addOperation(late)
      simulation.run()
      if work.kind != .succeeded { throw Wrong(what: "\(work) waits for nothing") }
    }
    #expect(report.isComplete)
    #expect(heldBack.count > 0)
  }

  @Test(arguments: [false, true])
  func `a start is refunded if the operation is cancelled`(byHand: Bool) throws {
    let report = try exploreSchedules { simulation in
      _ = try Self.run(simulation, byHand: byHand) { $0.cancel() }
    }
    #expect(report.isComplete)
  }

  @Test func `a refunded start is offered to a waiting operation if a condition fails`() throws {
    let report = try exploreSchedules { simulation in
      let queue = AdvancedOperationQueue(environment: simulation.environment)
      let holder = Work.open("holder")
      holder.addClaim(MutuallyExclusive("a"))
      queue.addOperation(holder)
      simulation.run()
      let answer = Changing(OperationConditionResult.satisfied)
      let work = Work("work")
      work.addClaim(MutuallyExclusive("a"))
      work.addClaim(Self.limit)
      work.addCondition(Immediate { _ in answer.value })
      queue.addOperation(work)
      simulation.run()
      answer.value = .skipped(reason: "nothing to do")

      let other = Work("other")
      other.addClaim(Self.limit)
      let start = Changing<Duration?>(nil)
      let clock = simulation.environment.clock
      other.onStart { _ in start.value = clock.now }
      simulation.addStep("finish") { holder.finish() }
      simulation.addStep("other") { queue.addOperation(other) }
      simulation.run()
      if start.value != .zero { throw Wrong(what: "\(other) started at \(start.value as Any)") }
    }
    #expect(report.isComplete)
  }

  @Test(arguments: [false, true])
  func `a start is refunded if a condition that is evaluated again isn't satisfied`(
    byHand: Bool
  ) throws {
    let report = try exploreSchedules { simulation in
      let answer = Changing(OperationConditionResult.satisfied)
      _ = try Self.run(simulation, byHand: byHand, condition: Immediate { _ in answer.value }) {
        _ in answer.value = .skipped(reason: "nothing to do")
      }
    }
    #expect(report.isComplete)
  }

  @Test func `a refunded start lets the next waiting operation start`() throws {
    let report = try exploreSchedules(depthFirst: Effort.schedules(10_000)) { simulation in
      let queue = AdvancedOperationQueue(environment: simulation.environment)
      let holder = Work.open("holder")
      holder.addClaim(MutuallyExclusive("a"))
      queue.addOperation(holder)
      let (starts, late) = (Log<Duration>(), Work("late"))
      let works = ["first", "second"].map { name in
        let work = Work(name) { work in
          starts.add(simulation.now)
          work.finish()
        }
        work.addClaim(Self.limit)
        return work
      }
      works[0].addClaim(MutuallyExclusive("a"))
      queue.addOperation(works[0])
      simulation.run()
      simulation.addStep("finish") { holder.finish() }
      simulation.addStep("hold back") {
        if works[0].state == .ready { works[0].addDependency(late) }
      }
      simulation.addStep("come") { queue.addOperation(works[1]) }
      simulation.run()
      queue.addOperation(late)
      simulation.run()
      if starts.entries != [.zero, .seconds(60)] { throw Wrong(what: "\(starts.entries)") }
    }
    #expect(report.isComplete || Effort.isOrdinary)
  }

  // MARK: The bucket itself

  private static let two = RateBucket.Rate(count: 2, duration: .seconds(2))

  @Test func `a refund restores the bucket if nothing has happened since the start`() {
    var bucket = RateBucket(now: .zero)
    let starts = [bucket.started([Self.two]), bucket.started([Self.two])]
    #expect(bucket.allowedAt([Self.two]) == .seconds(1))
    bucket.takenBack(starts[0])
    #expect(bucket.allowedAt([Self.two]) == .zero)
    bucket.takenBack(starts[1])
    #expect(bucket.allowedAt([Self.two]) == .seconds(-1))
  }

  @Test func `a refund returns only tokens that time hasn't restored`() {
    var bucket = RateBucket(now: .zero)
    let first = bucket.started([Self.two])
    bucket.timePassed(to: .milliseconds(900))
    _ = bucket.started([Self.two])
    bucket.timePassed(to: .milliseconds(950))
    bucket.takenBack(first)
    // Without the first one it would be full at 1.9 s.
    #expect(bucket.isFull(at: .milliseconds(1_950)))
    #expect(!bucket.isFull(at: .milliseconds(1_940)))
    var late = RateBucket(now: .zero)
    let start = late.started([Self.two])
    late.timePassed(to: .seconds(5))
    _ = late.started([Self.two])
    late.takenBack(start)
    #expect(!late.isFull(at: .milliseconds(5_999)))
  }

  @Test func `a start isn't refunded to a rate that hasn't counted it`() {
    var bucket = RateBucket(now: .zero)
    let first = bucket.started([Self.two])
    let other = RateBucket.Rate(count: 1, duration: .seconds(10))
    _ = bucket.started([other])
    bucket.takenBack(first)
    #expect(bucket.allowedAt([other]) == .seconds(10))
    #expect(bucket.allowedAt([Self.two]) == .zero)
  }
}
