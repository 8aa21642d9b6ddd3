/// The account of one resource: who holds how much of it, and who waits for it.
struct ClaimResource {
  struct Holding {
    let operation: AdvancedOperation
    /// Counts holdings, to list them in the order of taking.
    let number: UInt64
    let units: Int
    /// How many of the units are the resource's own; the others are lent by groups.
    let taken: Int
    let loans: [Loan]
    /// How many are lent to children at this moment.
    var lent = 0
  }

  struct Loan {
    let lender: ObjectIdentifier
    let units: Int
  }

  private var holdings: [ObjectIdentifier: Holding] = [:]
  /// How many of the resource's own units are taken.
  private(set) var used = 0
  /// How many of the holders may run other operations, and so wait for some.
  private(set) var parentCount = 0
  /// For rates.
  var bucket: RateBucket?
  var timer = BucketTimer()
  var line = ClaimLine()
  /// Children wait apart, by the innermost group that holds the resource.
  var childLines: [ObjectIdentifier: ClaimLine] = [:]
  /// When it was given back last, by the account's own clock.
  var lastRelease: UInt64 = 0
  /// How many have asked their conditions and not taken it yet.
  var questionCount = 0

  init() {}

  /// Whether to forget it makes no difference.
  var isUnused: Bool {
    holdings.isEmpty && bucket == nil && questionCount == 0 && line.isEmpty
      && childLines.allSatisfy { $0.value.isEmpty }
  }

  /// Whether nothing is free for anybody.
  func isFull(for demand: ClaimDemand) -> Bool { used >= demand.limit }

  // MARK: Taking

  /// Whether there is room for a demand of somebody inside of some groups, the innermost first.
  func fits(_ demand: ClaimDemand, inside groups: [ObjectIdentifier]) -> Bool {
    if let bucket { return bucket.allows(demand.rates) }
    let own = max(0, demand.units - lendable(by: groups))
    return own <= demand.limit - used
  }

  func lendable(by groups: [ObjectIdentifier]) -> Int {
    groups.reduce(0) { sum, group in sum + (holdings[group].map { $0.units - $0.lent } ?? 0) }
  }

  /// The innermost of some groups that holds something.
  func lender(among groups: [ObjectIdentifier]) -> ObjectIdentifier? {
    groups.first { holdings[$0] != nil }
  }

  mutating func taken(
    by operation: AdvancedOperation,
    _ demand: ClaimDemand,
    inside groups: [ObjectIdentifier],
    number: UInt64
  ) {
    if bucket != nil {
      bucket?.started(demand.rates)
      return
    }
    var open = demand.units
    var loans: [Loan] = []
    for group in groups where open > 0 {
      guard let holding = holdings[group], holding.units > holding.lent else { continue }
      let part = min(open, holding.units - holding.lent)
      holdings[group]?.lent += part
      loans.append(Loan(lender: group, units: part))
      open -= part
    }
    used += open
    if operation.mayRunOthers { parentCount += 1 }
    holdings[ObjectIdentifier(operation)] = Holding(
      operation: operation,
      number: number,
      units: demand.units,
      taken: open,
      loans: loans
    )
  }

  mutating func givenBack(by operation: AdvancedOperation) {
    guard let holding = holdings.removeValue(forKey: ObjectIdentifier(operation)) else { return }
    used -= holding.taken
    if operation.mayRunOthers { parentCount -= 1 }
    for loan in holding.loans { holdings[loan.lender]?.lent -= loan.units }
  }

  /// Who holds something, besides the groups around whoever asks, in the order of taking.
  func holders(besides groups: [ObjectIdentifier]) -> [Holding] {
    holdings.filter { !groups.contains($0.key) }.values.sorted { $0.number < $1.number }
  }

  // MARK: Lines

  /// The lines, with those of children first: what is free for them is free for nobody else.
  var lenders: [ObjectIdentifier?] { Array(childLines.keys) + [nil] }

  mutating func joined(_ entry: ClaimLine.Entry, lender: ObjectIdentifier?) {
    if let lender {
      childLines[lender, default: ClaimLine()].joined(entry)
    } else {
      line.joined(entry)
    }
  }

  mutating func left(lender: ObjectIdentifier?) {
    guard let lender else {
      line.left()
      return
    }
    childLines[lender]?.left()
    if childLines[lender]?.isEmpty == true { childLines[lender] = nil }
  }

  func latestTicket(lender: ObjectIdentifier?) -> Int64 {
    (lender.map { childLines[$0] } ?? line)?.latestTicket ?? .min
  }

  mutating func isNewFront(_ number: UInt64, lender: ObjectIdentifier?) -> Bool {
    guard let lender else { return line.isNewFront(number) }
    return childLines[lender]?.isNewFront(number) ?? false
  }

  mutating func first(
    lender: ObjectIdentifier?,
    where isCurrent: (ClaimLine.Entry) -> Bool
  ) -> ClaimLine.Entry? {
    guard let lender else { return line.first(where: isCurrent) }
    return childLines[lender]?.first(where: isCurrent)
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
  /// - Returns: The one that was set before, to be cancelled.
  mutating func set(_ deadline: Duration?) -> OperationTimer? {
    self.deadline = deadline
    number += 1
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
