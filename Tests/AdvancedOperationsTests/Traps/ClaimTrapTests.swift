import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import TestSupport
import Testing

/// Claims that are wrong from the beginning end the process with one sentence.
@Suite(.watched) struct `Wrong claims trap` {
  private static let sentence =
    "Operation “work” claims units of the pool “licences”, which belongs to another "
    + "ClaimDomain than the operation's environment. Create the pool with "
    + "ResourcePool(_:capacity:domain:) and environment.claimDomain as the domain."

  @Test func `attaching a claim to another domain's pool traps`() async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) {
      let world = World()
      let work = Work("work")
      work.environment = world.simulation.environment
      work.addClaim(ResourceUnits(1, of: ResourcePool("licences", capacity: 1)))
      fatalError("too late")
    }
    try expectMessage(Self.sentence, in: result)
  }

  @Test func `setting an environment with another claim domain traps`() async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) {
      let world = World()
      let work = Work("work")
      work.addClaim(ResourceUnits(1, of: ResourcePool("licences", capacity: 1)))
      work.environment = world.simulation.environment
      fatalError("too late")
    }
    try expectMessage(Self.sentence, in: result)
  }

  @Test func `enqueueing an operation that claims another domain's pool traps`() async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) {
      let world = World()
      let work = Work("work")
      work.addClaim(ResourceUnits(1, of: ResourcePool("licences", capacity: 1)))
      world.queue.addOperation(work)
      fatalError("too late")
    }
    try expectMessage(Self.sentence, in: result)
  }

  @Test
  func `manually starting an operation that claims another domain's pool traps`() async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) {
      let work = Work("work")
      let pool = ResourcePool("licences", capacity: 1, domain: ClaimDomain())
      work.addClaim(ResourceUnits(1, of: pool))
      work.start()
      fatalError("too late")
    }
    try expectMessage(Self.sentence, in: result)
  }

  @Test func `a claim on a pool of the right domain doesn't trap`() {
    let world = World()
    let work = Work("work")
    work.addClaim(ResourceUnits(1, of: world.pool(1)))
    world.run(work)
    #expect(work.kind == .succeeded)
    let byHand = Work("by hand")
    byHand.environment = world.simulation.environment
    byHand.addClaim(ResourceUnits(1, of: world.pool(1)))
    byHand.start()
    world.simulation.run()
    #expect(byHand.kind == .succeeded)
  }

  @Test func `a pool with a negative capacity traps`() async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) { _ = ResourcePool("licences", capacity: -1) }
    try expectMessage(
      "ResourcePool “licences” was created with the capacity -1. Give 0 or more.",
      in: result
    )
  }

  @Test func `a claim on a negative number of units traps`() async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) { _ = ResourceUnits(-1, of: ResourcePool("licences", capacity: 1)) }
    try expectMessage(
      "ResourceUnits of “licences” were created with the count -1. Give 0 or more.",
      in: result
    )
  }

  @Test func `setting a negative capacity traps`() async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) { ResourcePool("licences", capacity: 1).capacity = -1 }
    try expectMessage(
      "ResourcePool “licences” was given the capacity -1. Give 0 or more.",
      in: result
    )
  }

  @Test func `a rate that allows no start traps`() async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) { _ = RateLimit("calls", 0, per: .seconds(1)) }
    try expectMessage(
      "RateLimit “calls” was created with the count 0 per 1.0 seconds. "
        + "Give a count of 1 or more and a duration of more than zero.",
      in: result
    )
  }

  @Test func `a rate of no duration traps`() async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) { _ = RateLimit("calls", 1, per: .zero) }
    try expectMessage("RateLimit “calls” was created with the count 1 per 0.0 seconds.", in: result)
  }

  @Test func `a start that costs nothing traps`() async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) { _ = RateLimit("calls", 1, inAny: .seconds(1), cost: 0) }
    try expectMessage("RateLimit “calls” was created with the cost 0. Give 1 or more.", in: result)
  }

  @Test func `a circuit that opens by a ratio of zero traps`() async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) { _ = CircuitBreaker("api", failureRatio: 0) }
    try expectMessage("CircuitBreaker “api” was created with the ratio 0.0 of 20", in: result)
  }

  @Test func `a circuit breaker that opens after no failure traps`() async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) { _ = CircuitBreaker(failures: 0) }
    try expectMessage(
      "CircuitBreaker was created with 0 failures and a cooldown of 1 min. "
        + "Give 1 failure or more, and a cooldown that isn't negative.",
      in: result
    )
  }
}
