/// The account of one resource: who holds how much of it, and who waits for it.
///
/// Only touched with the lock of its domain held.
final class ClaimResource {
  let key: ClaimKey
  /// What is held of it, in no order.
  private var held: [ClaimDemand] = []
  /// How many of the resource's own units are taken.
  private(set) var used = 0
  /// What is held by those who may run other operations: these may enter it, and be waited for.
  private var heldByParents: [ObjectIdentifier: ClaimDemand] = [:]
  let isRate: Bool
  /// For rates, from the first time on that is known.
  var bucket: RateBucket?
  var timer = BucketTimer()
  let line = ClaimLine()
  /// Children wait apart, by the innermost group that holds the resource.
  private(set) var childLines: [ObjectIdentifier: ClaimLine] = [:]
  /// When it was given back last, by the account's own clock.
  var lastRelease: UInt64 = 0
  /// How many of those whom the account knows claim it: while there are any it is not forgotten.
  var claimantCount = 0

  init(_ key: ClaimKey, isRate: Bool) {
    self.key = key
    self.isRate = isRate
  }

  /// Whether nothing is free for anybody.
  func isFull(for demand: ClaimDemand) -> Bool { used >= demand.limit }
  /// Whether it is held by somebody who may run other operations, and so wait for some.
  var isHeldByParent: Bool { !heldByParents.isEmpty }

  // MARK: Taking

  /// Whether there is room for a demand of somebody inside of some groups, the innermost first.
  func fits(_ demand: ClaimDemand, inside groups: [ObjectIdentifier]) -> Bool {
    if demand.isRate { return bucket?.allows(demand.rates) ?? true }
    return needed(for: demand, inside: groups) <= demand.limit - used
  }

  /// How many of its own units it has to give for a demand.
  private func needed(for demand: ClaimDemand, inside groups: [ObjectIdentifier]) -> Int {
    if groups.isEmpty || heldByParents.isEmpty { return demand.units }
    let lendable = groups.reduce(0) { sum, group in
      sum + (heldByParents[group].map { $0.units - $0.lent } ?? 0)
    }
    return max(0, demand.units - lendable)
  }

  /// How many units are missing for a demand.
  func missing(for demand: ClaimDemand, inside groups: [ObjectIdentifier]) -> Int {
    demand.isRate ? 0 : max(0, needed(for: demand, inside: groups) - (demand.limit - used))
  }

  /// The innermost of some groups that holds something.
  func lender(among groups: [ObjectIdentifier]) -> ObjectIdentifier? {
    if groups.isEmpty || heldByParents.isEmpty { return nil }
    return groups.first { heldByParents[$0] != nil }
  }

  func taken(
    by operation: AdvancedOperation,
    _ demand: ClaimDemand,
    inside groups: [ObjectIdentifier],
    number: UInt64
  ) {
    if demand.isRate {
      demand.start = bucket?.started(demand.rates)
      return
    }
    var open = demand.units
    if !heldByParents.isEmpty {
      for group in groups where open > 0 {
        guard let lender = heldByParents[group], lender.units > lender.lent else { continue }
        let part = min(open, lender.units - lender.lent)
        lender.lent += part
        demand.loans.append(ClaimDemand.Loan(lender: lender, units: part))
        open -= part
      }
    }
    used += open
    if operation.mayRunOthers { heldByParents[ObjectIdentifier(operation)] = demand }
    demand.holder = operation
    demand.number = number
    demand.taken = open
    demand.lent = 0
    demand.index = held.count
    held.append(demand)
  }

  /// What was to start doesn't.
  func startTakenBack(_ demand: ClaimDemand) {
    guard let start = demand.start.take() else { return }
    bucket?.takenBack(start)
  }

  func givenBack(_ demand: ClaimDemand) {
    guard let holder = demand.holder else { return }
    let last = held.removeLast()
    if last !== demand {
      held[demand.index] = last
      last.index = demand.index
    }
    used -= demand.taken
    if holder.mayRunOthers { heldByParents[ObjectIdentifier(holder)] = nil }
    for loan in demand.loans { loan.lender.lent -= loan.units }
    demand.loans = []
    demand.holder = nil
  }

  /// What is held, besides by the groups around whoever asks, in the order of taking.
  func held(besides groups: [ObjectIdentifier]) -> [(demand: ClaimDemand, by: AdvancedOperation)] {
    held.compactMap { demand in demand.holder.map { (demand, $0) } }
      .filter { !groups.contains(ObjectIdentifier($0.1)) }
      .sorted { $0.0.number < $1.0.number }
  }

  // MARK: Lines

  /// The line that somebody inside of some groups stands in; nil when there is none yet.
  func line(for demand: ClaimDemand, inside groups: [ObjectIdentifier]) -> ClaimLine? {
    guard !demand.isRate, let lender = lender(among: groups) else { return line }
    return childLines[lender]
  }

  /// The same, made if there is none.
  func lineToJoin(for demand: ClaimDemand, inside groups: [ObjectIdentifier]) -> ClaimLine {
    if let line = line(for: demand, inside: groups) { return line }
    guard let lender = lender(among: groups) else { return line }
    let made = ClaimLine()
    childLines[lender] = made
    return made
  }

  func forgetEmptyLines() {
    if childLines.isEmpty { return }
    childLines = childLines.filter { !$0.value.isEmpty }
  }
}

/// The one timer of a bucket.
struct BucketTimer {
  /// When it is due; nil when there is none.
  private(set) var deadline: Duration?
  /// Tells one that was set from the next.
  private(set) var number: UInt64 = 0
  private var timer: OperationTimer?

  init() {}

  /// It is to be due at another time, or never.
  ///
  /// - Parameters:
  ///   - deadline: The time.
  ///   - number: Tells it from all that were set before.
  /// - Returns: The one that was set before, to be cancelled.
  mutating func set(_ deadline: Duration?, number: UInt64) -> OperationTimer? {
    self.deadline = deadline
    self.number = number
    defer { timer = nil }
    return timer
  }

  /// One was made; false when it isn't wanted any more.
  mutating func made(_ timer: OperationTimer, number: UInt64) -> Bool {
    guard self.number == number, deadline != nil else { return false }
    self.timer = timer
    return true
  }
}
