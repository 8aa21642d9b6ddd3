import CoreOperations

/// A resource that operations claim: a category, a pool, a rate, or what a group holds, for its
/// children.
///
/// It knows which claims hold how much of it, and which wait for it. Accessed under the lock of its
/// domain.
final class Resource {
  /// The key of a resource in its domain.
  struct Key: Hashable {
    let subject: ClaimRequest.Subject
    /// The number of the clock that a rate goes by; nil for other resources.
    var clock: UInt64?
  }

  /// What a group holds, as the resource of its children.
  struct Room {
    let capacity: Int
    /// The resource that the group, or the outermost of several groups, holds some of.
    let outermost: Resource
    /// The strictest limit of these groups.
    let limit: Int
  }

  struct Holder {
    let claim: Claim
    let units: Int
    /// The limit of a place; nil for units.
    let limit: Int?
    /// The place in the order of taking.
    fileprivate let number: UInt64
  }

  /// Nil for a room.
  let key: Key?
  let room: Room?
  private(set) var used = 0
  private var holdersByClaim: [ObjectIdentifier: Holder] = [:]
  /// The number of holders by their limits.
  private var heldLimits: [Int: Int] = [:]
  /// The number of holders that may run others, and so wait for some.
  private var parentCount = 0
  var waiters = Waiters()
  /// The number of claims in the book that have a part of it; it is kept as long as there are any.
  var claimCount = 0

  // Rates

  let isRate: Bool
  /// Nil until the time of its clock is known.
  var bucket: RateBucket?
  var timer = BucketTimer()
  private weak var passingClock: ClockIdentity?
  /// The same for a clock that lasts: leak checkers take a weak reference to it for a leak.
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

  /// Whether a new resource would be no different, as far as is known at a time of some clock.
  func isForgettable(_ time: ClaimBook.Time?) -> Bool {
    if claimCount > 0 { return false }
    guard let bucket, let clock else { return true }
    guard let time, time.clock.identity === clock else { return false }
    return bucket.isFull(at: time.now)
  }

  // MARK: Room

  /// The number of units that may be in use while an operation holds a part.
  ///
  /// Of different limits of a category, the strictest of the operation and of all holders. The
  /// capacity of a pool is the same for all.
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
    // Negative when the capacity was lowered, so the difference may be too large.
    let free = limit(for: part) - used
    let (missing, hasOverflown) = part.units.subtractingReportingOverflow(free)
    return hasOverflown ? .max : max(0, missing)
  }

  /// Whether there is room for a part, whoever came earlier.
  func fits(_ part: Claim.Part) -> Bool {
    isRate ? bucket?.allows(part.request.rates) ?? true : missing(for: part) == 0
  }

  /// What keeps a claim from a part; nil if the operation can have it.
  func obstacle(to part: Claim.Part, of claim: Claim) -> StartRule.Obstacle? {
    if !fits(part) { return !isRate && used >= limit(for: part) ? .full : .room }
    return waiters.isAhead(of: claim) ? .turn : nil
  }

  /// Whether there will never be enough for a part, whatever others release.
  ///
  /// The units of the operation's groups are of the same pool.
  func isExcessive(_ part: Claim.Part) -> Bool {
    guard room == nil, part.units > 0, let pool = part.request.pool else { return false }
    return part.request.units > pool.capacity
  }

  // MARK: Holders

  func take(_ part: inout Claim.Part, by claim: Claim, number: UInt64) {
    if isRate {
      part.start = bucket?.started(part.request.rates)
      return
    }
    let limit = room == nil ? part.request.limit : nil
    let holder = Holder(claim: claim, units: part.units, limit: limit, number: number)
    if holdersByClaim.updateValue(holder, forKey: ObjectIdentifier(claim)) != nil {
      trap("“\(part.request.name)” was taken twice by “\(claim.operation.label)”")
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

  /// Whether an operation holds it that may run others, and so may wait for some.
  var isHeldByParent: Bool { parentCount > 0 }

  /// The holders in the order of taking.
  var holders: [Holder] { holdersByClaim.values.sorted { $0.number < $1.number } }

  /// The one holder that alone keeps the limit of a part below that of all others, if there is one.
  func strictestHolder(for part: Claim.Part) -> Claim? {
    let limit = limit(for: part)
    guard let own = part.request.limit, limit < own, heldLimits[limit] == 1 else { return nil }
    return holdersByClaim.values.first { $0.limit == limit }?.claim
  }
}

/// The claims that wait for a resource, in the order of coming.
///
/// A new waiter comes last. A waiter that comes back has the ticket that it had.
///
/// - Complexity: Joining with the latest ticket O(1), otherwise joining and leaving O(log w), w the
///   number of waiters.
struct Waiters {
  private var claims = IndexedHeap<Claim>()
  /// The latest ticket of all that have joined since there was no waiter.
  private(set) var latestTicket = Int64.min
  /// The first waiter, if it has checked whether it waits in a cycle.
  private var checkedFirst: Claim?

  var first: Claim? { claims.first }

  /// Whether another claim comes first.
  func isAhead(of claim: Claim) -> Bool { first?.isBefore(claim) ?? false }

  /// Whether the first waiter has not checked for a cycle since it became the first.
  ///
  /// Those behind wait for it, so that a waiter that moves up may complete a cycle.
  var isFirstUnchecked: Bool { first !== checkedFirst }

  mutating func firstIsChecked() { checkedFirst = first }

  /// A claim begins to wait; its operation checks by itself whether that completes a cycle.
  mutating func join(_ claim: Claim) {
    guard let ticket = claim.ticket else { trap("a claim without a ticket joined the waiters") }
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
