/// The account of one resource: which operations hold how much of it, and which wait for it.
///
/// Only touched with the lock of its domain held.
final class ClaimResource {
  let key: ClaimKey
  /// What is held of it, in no order.
  private var held: [ClaimDemand] = []
  /// How many of the resource's own units are taken.
  private(set) var used = 0
  /// What operations hold that may run others: those may use it, and be waited for.
  private var heldByParents: [ObjectNumber: ClaimDemand] = [:] {
    didSet { isHeldByParent = !heldByParents.isEmpty }
  }
  /// Whether an operation holds it that may run others, and so wait for some.
  private(set) var isHeldByParent = false
  let isRate: Bool
  /// For rates, from the first time on that is known.
  var bucket: RateBucket?
  var timer = BucketTimer()
  /// By which a rate goes, while it exists.
  private weak var passingClock: ClockIdentity?
  /// The same for a clock that lasts: leak checkers take a weak reference to it for a leak.
  private let lastingClock: ClockIdentity?
  private var clock: ClockIdentity? { lastingClock ?? passingClock }
  /// The common line, in which those of children stand too.
  let line = ClaimLine()
  /// The limit that all demands had until now; nil when they differ.
  private var commonLimit: Int?
  /// How many of those that hold it have which limit; empty as long as all limits are the same.
  private var heldLimits: [Int: Int] = [:]
  /// How many operations that the account knows claim it; as long as there are any it is kept.
  var claimantCount = 0

  #if DEBUG
  /// How often was looked whether an operation may have some of it.
  var lookCount = 0
  #endif

  init(_ key: ClaimKey, _ demand: ClaimDemand, clock: ClockIdentity?) {
    self.key = key
    let isLasting = clock?.isLasting == true
    lastingClock = isLasting ? clock : nil
    passingClock = isLasting ? nil : clock
    isRate = demand.isRate
    commonLimit = demand.limit
  }

  /// Whether a new account would be no different, as far as is known at a time of some clock.
  func isForgettable(_ time: ClaimLedger.Time?) -> Bool {
    if claimantCount > 0 { return false }
    guard let bucket, let clock else { return true }
    guard let time, time.clock.identity === clock else { return false }
    return bucket.isFull(at: time.now)
  }

  /// How many units may be in use when a demand has its own.
  ///
  /// The strictest of its own limit and of those that holders have. The capacity of a pool is the
  /// same for all.
  ///
  /// - Complexity: O(l), l the number of different limits.
  func limit(for demand: ClaimDemand) -> Int {
    if commonLimit != nil || demand.pool != nil { return demand.limit }
    return heldLimits.keys.reduce(demand.limit) { min($0, $1) }
  }

  /// The one holder that alone keeps a demand's limit below that of all others, if there is one.
  func strictestHolder(for demand: ClaimDemand) -> ClaimDemand? {
    let limit = limit(for: demand)
    guard limit < demand.limit, heldLimits[limit] == 1 else { return nil }
    return held.first { $0.limit == limit }
  }

  /// The rule for a demand that has met no group yet.
  private func rule(for demand: ClaimDemand) -> LineRule {
    LineRule(units: demand.units, room: limit(for: demand) - used, isPool: demand.pool != nil)
  }

  /// The rule for a demand to which all of some groups have lent what they can.
  private func rule(for demand: ClaimDemand, lentBy groups: [ObjectNumber]) -> LineRule {
    var rule = rule(for: demand)
    if !isHeldByParent { return rule }
    for group in groups { rule.lend(heldByParents[group]?.lendable ?? 0) }
    return rule
  }

  /// Whether nothing is free.
  func isFull(for demand: ClaimDemand) -> Bool { used >= limit(for: demand) }

  // MARK: Taking

  /// Whether there is room for a demand of an operation inside of some groups, the innermost first.
  func fits(_ demand: ClaimDemand, inside groups: [ObjectNumber]) -> Bool {
    if demand.isRate { return bucket?.allows(demand.rates) ?? true }
    return rule(for: demand, lentBy: groups).hasRoom
  }

  /// How many units are missing for a demand.
  func missing(for demand: ClaimDemand, inside groups: [ObjectNumber]) -> Int {
    demand.isRate ? 0 : rule(for: demand, lentBy: groups).missing
  }

  /// What the groups around an operation hold, the innermost first.
  func lenders(inside groups: [ObjectNumber]) -> [ClaimDemand] {
    if groups.isEmpty || !isHeldByParent || isRate { return [] }
    return groups.compactMap { heldByParents[$0] }
  }

  func taken(
    by operation: any ClaimHolder,
    _ demand: ClaimDemand,
    inside groups: [ObjectNumber],
    number: UInt64
  ) {
    if demand.isRate {
      demand.start = bucket?.started(demand.rates)
      return
    }
    if demand.holder != nil { trap("“\(demand.name)” was taken twice by “\(operation.label)”") }
    var open = demand.units
    if isHeldByParent {
      for group in groups where open > 0 {
        guard let lender = heldByParents[group], lender.lendable > 0 else { continue }
        let part = min(open, lender.lendable)
        lender.lent += part
        demand.loans.append(ClaimDemand.Loan(lender: lender, units: part))
        open -= part
      }
    }
    used += open
    if let number = operation.parentNumber { heldByParents[number] = demand }
    demand.holder = operation
    demand.number = number
    demand.taken = open
    demand.lent = 0
    demand.index = held.count
    held.append(demand)
    if commonLimit == nil, demand.pool == nil { heldLimits[demand.limit, default: 0] += 1 }
  }

  /// A demand gives back what it has.
  ///
  /// - Returns: The lines in which operations may have it now, besides the common one.
  func givenBack(_ demand: ClaimDemand) -> [ClaimLine] {
    guard let holder = demand.holder else { return [] }
    let last = held.removeLast()
    if last !== demand {
      held[demand.index] = last
      last.index = demand.index
    }
    demand.holder = nil
    if commonLimit == nil, let count = heldLimits[demand.limit] {
      heldLimits[demand.limit] = count > 1 ? count - 1 : nil
    }
    if let number = holder.parentNumber { heldByParents[number] = nil }
    if demand.lent > 0 { passOnDebts(to: demand) }
    used -= demand.taken
    demand.taken = 0
    for loan in demand.loans { loan.lender.lent -= loan.units }
    var lines = exchange(&demand.loans, with: []).compactMap { $0.lender.line }
    if let line = demand.line.take(), let outer = line.outer {
      line.dissolved()
      lines.append(outer)
    }
    // With less in use, those may enter whose own limit kept them from what their group holds.
    if commonLimit == nil && isHeldByParent {
      let lenders = held.filter { $0.line != nil }.sorted { $0.number < $1.number }
      lines += lenders.compactMap(\.line)
    }
    return lines
  }

  /// A group gives back what operations inside of it still use: they owe it to where it came from.
  private func passOnDebts(to lender: ClaimDemand) {
    for borrower in held.sorted(by: { $0.number < $1.number }) {
      let loans = borrower.loans
      borrower.loans = loans.filter { $0.lender !== lender }
      var open = loans.reduce(0) { $0 + ($1.lender === lender ? $1.units : 0) }
      while open > 0, let loan = lender.loans.popLast() {
        let part = min(open, loan.units)
        borrower.loans.append(ClaimDemand.Loan(lender: loan.lender, units: part))
        if loan.units > part {
          lender.loans.append(ClaimDemand.Loan(lender: loan.lender, units: loan.units - part))
        }
        open -= part
      }
      borrower.taken += open
      lender.taken -= open
    }
    lender.lent = 0
  }

  /// What is held by other operations than these groups, in the order of taking.
  func held(besides groups: [ObjectNumber]) -> [(demand: ClaimDemand, by: any ClaimHolder)] {
    held.compactMap { demand in demand.holder.map { (demand, $0) } }
      .filter { !($0.1.parentNumber.map(groups.contains) ?? false) }
      .sorted { $0.0.number < $1.0.number }
  }

  // MARK: Lines

  /// What an operation meets that wants to have a demand.
  enum Way {
    /// It may have it.
    case open
    /// Another operation comes first in this line.
    case behind(ClaimLine)
    /// It is its turn, and there isn't enough.
    case full
  }

  /// What an operation meets that is inside of some groups, the innermost first: what these hold is
  /// free for it before others, and what goes beyond that at its turn among all.
  ///
  /// - Complexity: O(g), g the number of groups.
  func way(for demand: ClaimDemand, inside groups: [ObjectNumber], ticket: Int64?) -> Way {
    if demand.isRate {
      if line.isAhead(of: ticket) { return .behind(line) }
      return fits(demand, inside: []) ? .open : .full
    }
    var rule = rule(for: demand)
    if isHeldByParent {
      for group in groups {
        guard let lender = heldByParents[group] else { continue }
        let isBehind = lender.line?.isAhead(of: ticket) ?? false
        switch rule.group(lends: lender.lendable, isBehind: isBehind) {
        case .enters: return .open
        case .waitsForTurn: return .behind(lender.line ?? line)
        case .waitsForRoom, .goesOn: continue
        }
      }
    }
    switch rule.common(isBehind: line.isAhead(of: ticket)) {
    case .enters: return .open
    case .waitsForTurn: return .behind(line)
    case .waitsForRoom, .goesOn: return .full
    }
  }

  /// The line for an operation inside of some groups, the innermost first; made if there is none.
  func lineToJoin(for demand: ClaimDemand, inside groups: [ObjectNumber]) -> ClaimLine {
    var line = line
    for lender in lenders(inside: groups).reversed() {
      line = lender.line ?? ClaimLine(inside: line)
      lender.line = line
    }
    return line
  }

  /// Another operation claims it, perhaps with another limit.
  func claimed(by demand: ClaimDemand) {
    claimantCount += 1
    demand.knownResource = self
    guard let common = commonLimit, common != demand.limit else { return }
    commonLimit = nil
    if demand.pool == nil, !held.isEmpty { heldLimits[common] = held.count }
  }
}
