import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import TestSupport
import Testing

@Suite(.watched) struct `The token bucket of a rate limit` {
  /// A clock that stands still, and is gone with its last copy.
  private struct Still: Clock {
    final class Instant: InstantProtocol {
      let time: Duration
      init(_ time: Duration) { self.time = time }
      func advanced(by duration: Duration) -> Instant { Instant(time + duration) }
      func duration(to other: Instant) -> Duration { other.time - time }
      static func < (left: Instant, right: Instant) -> Bool { left.time < right.time }
      static func == (left: Instant, right: Instant) -> Bool { left.time == right.time }
      func hash(into hasher: inout Hasher) { hasher.combine(time) }
    }

    var now: Instant { Instant(.zero) }
    var minimumResolution: Duration { .zero }
    func sleep(until deadline: Instant, tolerance: Duration?) async throws {}
  }

  /// Each of them finds a bucket that is full, wherever the last clock was in memory.
  @Test func `a new clock doesn't inherit the bucket of a released clock`() async throws {
    let domain = ClaimDomain()
    for _ in 0..<Effort.rounds(200) {
      let queue = AdvancedOperationQueue(
        environment: OperationEnvironment(clock: OperationClock(Still()), claimDomain: domain)
      )
      let work = Work("work")
      work.addClaim(RateLimit("calls", 1, per: .seconds(60), whenBusy: .fail))
      queue.addOperation(work)
      try await queue.untilAllOperationsAreFinished()
      #expect(work.kind == .succeeded)
    }
  }

  @Test func `a bucket is removed after its clock's release whatever is claimed next`() async throws
  {
    let domain = ClaimDomain()
    for number in 0..<2_000 {
      let queue = AdvancedOperationQueue(
        environment: OperationEnvironment(clock: OperationClock(Still()), claimDomain: domain)
      )
      let work = Work("work")
      work.addClaim(RateLimit("calls", 1, per: .seconds(60)))
      let other = Work("other")
      other.addClaim(MutuallyExclusive("\(number)"))
      queue.addOperations([work, other])
      try await queue.untilAllOperationsAreFinished()
    }
    #expect(domain.resourceCount <= 128)
  }

  @Test func `a bucket stays as long as its clock is in use`() {
    let world = World()
    let limit = RateLimit("calls", 1, per: .seconds(60), whenBusy: .skip)
    let first = Work.claiming("first", limit)
    world.run(first)
    let others = (0..<1_000).map { Work.claiming("other", MutuallyExclusive("\($0)")) }
    for other in others {
      world.run(other)
      world.finishAll([other])
    }
    let second = Work.claiming("second", limit)
    world.run(second)
    #expect(second.kind == .skipped)
    world.finishAll([first])
  }
}
