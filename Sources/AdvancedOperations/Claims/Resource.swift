import CoreOperations

/// A resource that operations claim: a category, a pool, a rate, or the units that a group holds for its
/// children.
///
/// The resource records the claims that hold units of it and the claims that wait for it. The lock of the
/// domain protects the resource.
final class Resource {
  /// The key of a resource in its domain.
  struct Key: Hashable {
    let subject: ClaimRequest.Subject
    /// The number of the clock of a rate; nil for other resources.
    var clock: UInt64?
  }

  /// The units that a group holds, as a resource of its children.
  struct Room {
    let capacity: Int
    /// The resource of which the group, or the outermost of several groups, holds units.
    let outermost: Resource
    /// The strictest limit of the groups.
    let limit: Int
  }

  struct Holder {
    let claim: Claim
    let units: Int
    /// The limit of a place; nil for units.
    let limit: Int?
    /// The place in the order of acquisition.
    fileprivate let number: UInt64
  }

  /// The key of the resource in its domain; nil for a room.
  let key: Key?
  let room: Room?
  private(set) var used = 0
  private var holdersByClaim: [ObjectIdentifier: Holder] = [:]
  /// The number of holders by their limits.
  private var heldLimits: [Int: Int] = [:]
  /// The number of holders that may run other operations, and so wait for them.
  private var parentCount = 0
  var waiters = Waiters()
  /// The number of claims in the book that have a part of the resource.
  ///
  /// The book keeps the resource while there are any.
  var claimCount = 0

  // Rates

  let isRate: Bool
  /// The token bucket of a rate; nil until the time of its clock is known.
  var bucket: RateBucket?
  var timer = BucketTimer()
  private weak var passingClock: ClockIdentity?
  /// The clock if it is never deallocated.
  ///
  /// The reference is strong, because leak checkers report a weak reference to such an object as a leak.
  private let lastingClock: ClockIdentity?
  private var clock: ClockIdentity? { lastingClock ?? passingClock }

  init(_ key: Key, isRate: Bool, clock: ClockIdentity?) {
    self.key = key
    self.isRate = isRate
    room = nil
    let isLasting = clock?.isLasting == true
    lastingClock = isLasting ? clock : nil
    passingClock = isLasting ? nil : clock
  }

  /// Creates the resource of a group's children.
  init(inside part: Claim.Part) {
    key = nil
    isRate = false
    lastingClock = nil
    let (outer, limit) = (part.resource.room, part.request.limit ?? .max)
    room = Room(
      capacity: part.request.units,
      outermost: outer?.outermost ?? part.resource,
      limit: min(limit, outer?.limit ?? .max)
    )
  }

  /// Returns true if the resource is equivalent to a new resource, as far as a reading of a clock shows.
  func isForgettable(_ time: ClaimBook.Time?) -> Bool {
    if claimCount > 0 { return false }
    guard let bucket, let clock else { return true }
    guard let time, time.clock.identity === clock else { return false }
    return bucket.isFull(at: time.now)
  }

  // MARK: Room

  /// The number of units that may be in use while an operation holds a part.
  ///
  /// For a category, the number is the strictest limit of the operation and of all holders. For a pool, the
  /// number is its capacity.
  func limit(for part: Claim.Part) -> Int {
    if let room { return room.capacity }
    switch part.request.amount {
    case .place(let limit): return heldLimits.keys.reduce(limit) { min($0, $1) }
    case .units(_, let pool): return pool.capacity
    case .start: return 0
    }
  }

  /// The number of units that are missing for a part.
  func missing(for part: Claim.Part) -> Int {
    if isRate { return 0 }
    // The number is negative after the capacity was lowered, so the difference may overflow.
    let free = limit(for: part) - used
    let (missing, hasOverflown) = part.units.subtractingReportingOverflow(free)
    return hasOverflown ? .max : max(0, missing)
  }

  /// Returns true if there is room for a part, independently of earlier waiters.
  func fits(_ part: Claim.Part) -> Bool {
    isRate
      ? bucket?.allows(part.request.rates, cost: part.request.cost) ?? true
      : missing(for: part) == 0
  }

  /// Returns the obstacle between a claim and its part; nil if the part is available.
  func obstacle(to part: Claim.Part, of claim: Claim) -> StartRule.Obstacle? {
    if !fits(part) { return !isRate && used >= limit(for: part) ? .full : .room }
    return waiters.isAhead(of: claim) ? .turn : nil
  }

  /// Returns true if there will never be enough units for a part, even if all others are released.
  ///
  /// The units of the operation's groups are of the same pool.
  func isExcessive(_ part: Claim.Part) -> Bool {
    if isRate { return part.request.rates.contains { part.request.cost > $0.count } }
    guard room == nil, part.units > 0, let pool = part.request.pool else { return false }
    return part.request.units > pool.capacity
  }

  // MARK: Holders

  func take(_ part: inout Claim.Part, by claim: Claim, number: UInt64) {
    if isRate {
      part.start = bucket?.started(part.request.rates, cost: part.request.cost)
      return
    }
    let limit = room == nil ? part.request.limit : nil
    let holder = Holder(claim: claim, units: part.units, limit: limit, number: number)
    if holdersByClaim.updateValue(holder, forKey: ObjectIdentifier(claim)) != nil {
      internalError("“\(part.request.name)” was acquired twice by “\(claim.operation.label)”")
    }
    used += part.units
    if let limit { heldLimits[limit, default: 0] += 1 }
    if claim.mayRunOthers { parentCount += 1 }
  }

  func release(by claim: Claim) {
    guard let holder = holdersByClaim.removeValue(forKey: ObjectIdentifier(claim)) else { return }
    used -= holder.units
    if let limit = holder.limit, let count = heldLimits[limit] {
      heldLimits[limit] = count > 1 ? count - 1 : nil
    }
    if claim.mayRunOthers { parentCount -= 1 }
  }

  /// A Boolean value that indicates whether a holder may run other operations, and so may wait for them.
  var isHeldByParent: Bool { parentCount > 0 }

  /// The holders, in the order of acquisition.
  var holders: [Holder] { holdersByClaim.values.sorted { $0.number < $1.number } }

  /// Returns the holder whose limit alone decides about a part; nil if there is no such holder, or several.
  func strictestHolder(for part: Claim.Part) -> Claim? {
    let limit = limit(for: part)
    guard let own = part.request.limit, limit < own, heldLimits[limit] == 1 else { return nil }
    return holdersByClaim.values.first { $0.limit == limit }?.claim
  }
}

/// The claims that wait for a resource, in FIFO order.
///
/// A new waiter is the last. A waiter that returns keeps its ticket.
///
/// - Complexity: Joining with the latest ticket takes O(1). Otherwise, joining and leaving take O(log w),
///   where w is the number of waiters.
struct Waiters {
  private var claims = IndexedHeap<Claim>()
  /// The latest ticket of all waiters that have joined since the queue was last empty.
  private(set) var latestTicket = Int64.min
  /// The first waiter, if it has checked whether it waits in a cycle.
  private var checkedFirst: Claim?

  var first: Claim? { claims.first }

  /// Returns true if another claim is before the given claim.
  func isAhead(of claim: Claim) -> Bool { first?.isBefore(claim) ?? false }

  /// A Boolean value that indicates whether the first waiter hasn't checked for a cycle since it became the
  /// first.
  ///
  /// The waiters behind wait for the first, so a waiter that moves up may complete a cycle.
  var isFirstUnchecked: Bool { first !== checkedFirst }

  mutating func firstIsChecked() { checkedFirst = first }

  /// Adds a claim to the waiters; its operation then checks whether the wait completes a cycle.
  mutating func join(_ claim: Claim) {
    guard let ticket = claim.ticket else {
      internalError("a claim without a ticket joined the waiters")
    }
    claims.insert(claim)
    latestTicket = max(latestTicket, ticket)
    if first === claim { checkedFirst = claim }
  }

  mutating func leave(_ claim: Claim) {
    claims.remove(at: claim.heapIndex)
    if checkedFirst === claim { checkedFirst = nil }
    if claims.isEmpty { latestTicket = .min }
  }
}
