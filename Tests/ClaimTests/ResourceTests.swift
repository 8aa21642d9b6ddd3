import AdvancedTestSupport
import CoreOperations
import TestSupport
import Testing

@testable import AdvancedOperations

@Suite struct `The holders and waiters of a resource` {
  private static func part(_ request: ClaimRequest, of resource: Resource) -> Claim.Part {
    Claim.Part(resource: resource, request: request, units: request.units)
  }

  private static func claim(_ request: ClaimRequest) -> Claim {
    Claim(
      ClaimBook.Attempt(
        operation: Work(),
        requests: [request],
        groups: [],
        mayRunOthers: false,
        alwaysWaits: false,
        time: nil
      )
    )
  }

  private static func resource(for request: ClaimRequest) -> Resource {
    Resource(Resource.Key(subject: request.subject), isRate: false, clock: nil)
  }

  private static func place(_ limit: Int) -> ClaimRequest {
    MutuallyExclusive("a", limit: limit).requests[0]
  }

  /// Has a new claim take a request; returns the claim.
  @discardableResult private static func take(
    _ request: ClaimRequest,
    of resource: Resource,
    number: UInt64 = 1
  ) -> Claim {
    let claim = claim(request)
    var part = part(request, of: resource)
    resource.take(&part, by: claim, number: number)
    return claim
  }

  @Test func `the number of missing units is the difference to the pool's capacity`() {
    for (capacity, used, units) in [(5, 0, 5), (5, 2, 3), (5, 3, 3), (3, 3, 1), (0, 0, 1)] {
      let pool = ResourcePool(capacity: capacity)
      let resource = Self.resource(for: ResourceUnits(1, of: pool).requests[0])
      if used > 0 { Self.take(ResourceUnits(used, of: pool).requests[0], of: resource) }
      let part = Self.part(ResourceUnits(units, of: pool).requests[0], of: resource)
      #expect(resource.missing(for: part) == max(0, used + units - capacity))
      #expect(resource.fits(part) == (used + units <= capacity))
      #expect(resource.isExcessive(part) == (units > capacity))
    }
  }

  @Test func `a lowered capacity increases the number of missing units`() {
    let pool = ResourcePool(capacity: .max)
    let request = ResourceUnits(.max, of: pool).requests[0]
    let resource = Self.resource(for: request)
    Self.take(ResourceUnits(3, of: pool).requests[0], of: resource)
    let part = Self.part(request, of: resource)
    #expect(resource.missing(for: part) == 3)
    pool.capacity = 1
    #expect(resource.missing(for: part) == .max)
  }

  @Test func `the strictest limit of all holders and the newcomer applies`() {
    for limits in [[1], [2], [3, 3], [3, 2], [2, 3], [4, 4, 3]] {
      for limit in 1...4 {
        let resource = Self.resource(for: Self.place(1))
        for (number, held) in limits.enumerated() {
          Self.take(Self.place(held), of: resource, number: UInt64(number))
        }
        let part = Self.part(Self.place(limit), of: resource)
        let strictest = min(limit, limits.min() ?? limit)
        #expect(resource.limit(for: part) == strictest)
        #expect(resource.fits(part) == (limits.count < strictest))
      }
    }
  }

  @Test func `a release frees its units once and removes its limit`() {
    let resource = Self.resource(for: Self.place(1))
    let holder = Self.take(Self.place(1), of: resource)
    let part = Self.part(Self.place(3), of: resource)
    #expect(!resource.fits(part))
    #expect(resource.strictestHolder(for: part) === holder)
    for _ in 0..<2 { resource.release(by: holder) }
    #expect(resource.used == 0)
    #expect(resource.limit(for: part) == 3)
    #expect(resource.holders.isEmpty)
  }

  @Test func `holders are listed in acquisition order`() {
    let resource = Self.resource(for: Self.place(9))
    let claims = (0..<6).map { Self.take(Self.place(9), of: resource, number: UInt64(10 - $0)) }
    let expected = claims.reversed().map { ObjectIdentifier($0) }
    #expect(resource.holders.map { ObjectIdentifier($0.claim) } == expected)
  }

  @Test func `a group's share is the whole resource of its children`() {
    let pool = ResourcePool(capacity: 5)
    let outer = Self.resource(for: ResourceUnits(3, of: pool).requests[0])
    let room = Resource(inside: Self.part(ResourceUnits(3, of: pool).requests[0], of: outer))
    let part = Self.part(ResourceUnits(2, of: pool).requests[0], of: room)
    #expect(room.limit(for: part) == 3)
    pool.capacity = 0
    #expect(room.fits(part) && !room.isExcessive(part))
    let inner = Resource(inside: part)
    #expect(inner.room?.capacity == 2)
    #expect(inner.room?.outermost === outer)
  }

  @Test func `a nested group has the stricter of both limits`() {
    let resource = Self.resource(for: Self.place(3))
    let outer = Resource(inside: Self.part(Self.place(2), of: resource))
    #expect(outer.room?.limit == 2)
    #expect(Resource(inside: Self.part(Self.place(3), of: outer)).room?.limit == 2)
    #expect(Resource(inside: Self.part(Self.place(1), of: outer)).room?.limit == 1)
  }

  @Test func `a claim has the least obstacle only if there are free units`() {
    let resource = Self.resource(for: Self.place(2))
    let part = Self.part(Self.place(2), of: resource)
    let newcomer = Self.claim(Self.place(2))
    #expect(resource.obstacle(to: part, of: newcomer) == nil)
    let waiter = Self.claim(Self.place(2))
    waiter.ticket = 1
    resource.waiters.join(waiter)
    #expect(resource.obstacle(to: part, of: newcomer) == .turn)
    #expect(resource.obstacle(to: part, of: waiter) == nil)
    for number: UInt64 in 0..<2 { Self.take(Self.place(2), of: resource, number: number) }
    #expect(resource.obstacle(to: part, of: newcomer) == .full)
  }

  // MARK: Waiters

  @Test(arguments: seeds) func `waiters are ordered by their tickets`(seed: UInt64) {
    var random = Random(seed)
    var waiters = Waiters()
    var expected: [Claim] = []
    for ticket in (0..<60).shuffled(using: &random) {
      let claim = Self.claim(Self.place(1))
      claim.ticket = Int64(ticket)
      waiters.join(claim)
      expected.append(claim)
      expected.sort { $0.isBefore($1) }
      if Int.random(in: 0..<3, using: &random) == 0,
        let one = expected.randomElement(using: &random)
      {
        waiters.leave(one)
        expected.removeAll { $0 === one }
      }
      #expect(waiters.first === expected.first)
    }
    while let first = waiters.first {
      #expect(first === expected.removeFirst())
      waiters.leave(first)
    }
    #expect(expected.isEmpty)
    #expect(waiters.latestTicket == .min)
  }

  @Test func `the first waiter is unchecked when it moves up rather than joins`() {
    var waiters = Waiters()
    let claims = (0..<3).map { ticket in
      let claim = Self.claim(Self.place(1))
      claim.ticket = Int64(ticket)
      waiters.join(claim)
      return claim
    }
    #expect(!waiters.isFirstUnchecked)
    waiters.leave(claims[0])
    #expect(waiters.isFirstUnchecked)
    waiters.firstIsChecked()
    #expect(!waiters.isFirstUnchecked)
    waiters.leave(claims[1])
    #expect(waiters.isFirstUnchecked)
  }
}
