import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import Testing

@Suite struct `Of several claims that are busy` {
  /// Somebody who holds a and b, and one who claims both.
  private static func refused(_ first: WhenBusy, _ second: WhenBusy) -> Work {
    let world = World()
    let holders = ["a", "b"].map { Work.claiming("holder of \($0)", MutuallyExclusive($0)) }
    for holder in holders { world.run(holder) }
    let work = Work.claiming(
      "work",
      MutuallyExclusive("a", whenBusy: first),
      MutuallyExclusive("b", whenBusy: second)
    )
    world.run(work)
    world.finishAll(holders + [work])
    if first != .cancelHolder && second != .cancelHolder {
      #expect(holders.allSatisfy { $0.kind == .succeeded })
    }
    return work
  }

  @Test(arguments: [(WhenBusy.fail, WhenBusy.skip, "a"), (.skip, .fail, "b")])
  func `a busy claim that fails the operation decides before claims that skip`(
    first: WhenBusy,
    second: WhenBusy,
    name: String
  ) {
    let work = Self.refused(first, second)
    #expect(work.kind == .failed)
    #expect(work.claimError == .busy(holders: ["holder of \(name)"]))
  }

  @Test(arguments: [WhenBusy.wait, .cancelHolder])
  func `a busy claim that fails or skips decides and leaves other holders alone`(other: WhenBusy) {
    for (first, second) in [(WhenBusy.skip, other), (other, .skip)] {
      #expect(Self.refused(first, second).kind == .skipped)
    }
    for (first, second) in [(WhenBusy.fail, other), (other, .fail)] {
      #expect(Self.refused(first, second).kind == .failed)
    }
  }

  @Test func `the first of two claims that fail or skip decides`() {
    #expect(Self.refused(.fail, .fail).claimError == .busy(holders: ["holder of a"]))
    let outcome = Self.refused(.skip, .skip).outcome.map { "\($0)" }
    #expect(outcome == "skipped: “a” is held by holder of a")
  }

  @Test func `busy claims that wait or cancel leave the other claims as they are`() {
    #expect(Self.refused(.wait, .wait).kind == .succeeded)
    #expect(Self.refused(.cancelHolder, .wait).kind == .succeeded)
  }

  /// Two claims to the same thing are one.
  @Test(arguments: WhenBusy.allCases, WhenBusy.allCases)
  func `the stricter of two claims to the same thing decides`(first: WhenBusy, second: WhenBusy) {
    let world = World()
    let holder = Work.claiming("holder", MutuallyExclusive("a"))
    world.run(holder)
    let work = Work.claiming(
      "work",
      MutuallyExclusive("a", whenBusy: first),
      MutuallyExclusive("a", whenBusy: second)
    )
    world.run(work)
    let both = [first, second]
    if both.contains(.fail) {
      #expect(work.claimError == .busy(holders: ["holder"]))
    } else if both.contains(.skip) {
      #expect(work.kind == .skipped)
    } else {
      #expect(holder.isCancelled == both.contains(.cancelHolder))
      world.finishAll([holder])
      #expect(work.isExecuting)
    }
    world.finishAll([holder, work])
    #expect(!holder.isCancelled || both.contains(.cancelHolder))
  }
}

/// An operation waits for one claim, and meanwhile another of its claims, free when it came, is
/// taken.
@Suite struct `A claim that becomes busy while another one is waited for` {
  private static let policies: [WhenBusy] = [.wait, .fail, .skip, .cancelHolder]

  /// The operation claims a and b; the holder of a has given it back, that of b has it still.
  private static func overtaken(
    _ whenBusy: WhenBusy,
    seed: UInt64
  ) -> (world: World, holder: Work, work: Work) {
    let world = World(seed: seed)
    let holders = ["a", "b"].map { Work.claiming("holder of \($0)", MutuallyExclusive($0)) }
    let work = Work.claiming(
      "work",
      MutuallyExclusive("a"),
      MutuallyExclusive("b", whenBusy: whenBusy)
    )
    world.run(holders[0])
    world.run(work)
    world.run(holders[1])
    #expect(holders[1].isExecuting)
    #expect(work.state == .ready)
    world.finishAll([holders[0]])
    return (world, holders[1], work)
  }

  @Test(arguments: policies, seeds)
  func `a claim that became busy decides as a newly requested claim does`(
    whenBusy: WhenBusy,
    seed: UInt64
  ) {
    let (world, holder, work) = Self.overtaken(whenBusy, seed: seed)
    #expect(holder.isCancelled == (whenBusy == .cancelHolder))
    switch whenBusy {
    case .fail: #expect(work.claimError == .busy(holders: ["holder of b"]))
    case .skip: #expect(work.kind == .skipped)
    case .wait: #expect(work.state == .ready)
    case .cancelHolder: #expect(work.isExecuting)
    }
    world.finishAll([holder, work])
    #expect(work.didExecute == (whenBusy == .wait || whenBusy == .cancelHolder))
  }

  @Test(arguments: [WhenBusy.fail, .skip])
  func `a used-up rate ends an operation that waited for another claim`(
    whenBusy: WhenBusy
  ) {
    let world = World()
    func once() -> RateLimit {
      RateLimit("once", 1, per: .seconds(Int64.max), whenBusy: whenBusy)
    }
    let holder = Work.claiming("holder", MutuallyExclusive("a"))
    let work = Work.claiming("work", MutuallyExclusive("a"), once())
    let other = Work.claiming("other", once())
    world.run(holder)
    world.run(work)
    world.run(other)
    #expect(other.isExecuting)
    world.finishAll([holder, other])
    #expect(work.kind == (whenBusy == .fail ? .failed : .skipped))
  }

  @Test func `an operation starts if its second claim is free again when it is scheduled`() {
    let (world, holders) = (World(), ["a", "b"].map { Work.claiming($0, MutuallyExclusive($0)) })
    let work = Work.claiming(
      "work",
      MutuallyExclusive("a"),
      MutuallyExclusive("b", whenBusy: .fail)
    )
    world.run(holders[0])
    world.run(work)
    world.run(holders[1])
    world.finishAll([holders[1]])
    #expect(work.state == .ready)
    world.finishAll([holders[0]])
    #expect(work.isExecuting)
    world.finishAll([work])
  }
}
