import AdvancedOperations
import AdvancedOperationsTesting
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
  func `one that fails decides, whatever others would skip`(
    first: WhenBusy,
    second: WhenBusy,
    name: String
  ) {
    let work = Self.refused(first, second)
    #expect(work.kind == .failed)
    #expect(work.claimError == .busy(holders: ["holder of \(name)"]))
  }

  @Test(arguments: [WhenBusy.wait, .cancelHolder])
  func `one that fails or skips decides, and does nothing to the others`(other: WhenBusy) {
    for (first, second) in [(WhenBusy.skip, other), (other, .skip)] {
      #expect(Self.refused(first, second).kind == .skipped)
    }
    for (first, second) in [(WhenBusy.fail, other), (other, .fail)] {
      #expect(Self.refused(first, second).kind == .failed)
    }
  }

  @Test func `the first decides of two that fail, or skip`() {
    #expect(Self.refused(.fail, .fail).claimError == .busy(holders: ["holder of a"]))
    let outcome = Self.refused(.skip, .skip).outcome.map { "\($0)" }
    #expect(outcome == "skipped: “a” is held by holder of a")
  }

  @Test func `one that waits, or takes over, leaves the others as they are`() {
    #expect(Self.refused(.wait, .wait).kind == .succeeded)
    #expect(Self.refused(.cancelHolder, .wait).kind == .succeeded)
  }

  /// Two claims to the same thing are one.
  @Test(arguments: WhenBusy.allCases, WhenBusy.allCases)
  func `to the same thing what forbids more decides`(first: WhenBusy, second: WhenBusy) {
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
