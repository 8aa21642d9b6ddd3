/// What one operation asks of one resource, with all its claims on it taken together, and what it
/// has of it.
///
/// An object, so that the account finds both without looking anything up.
final class ClaimDemand: @unchecked Sendable {
  // Sendable: what is claimed never changes, and what is held is only touched with the lock
  // of the operation's domain held.
  let name: String
  /// How many units, or places, are held; 0 for a rate.
  let units: Int
  /// How many operations may be in, by the claim's own limit; nothing else has one.
  private let places: Int
  /// The rates that have to allow a start.
  let rates: [RateBucket.Rate]
  let whenBusy: WhenBusy
  /// The pool that the units are of.
  let pool: ResourcePool?
  let subject: ClaimKey.Subject

  // What the operation has of it; for the account alone. Each in a property of its own, because the
  // compiler then sees that none is changed while it is read, and leaves the checks for that out.

  /// What is claimed; nil until the account knows the operation.
  var knownResource: ClaimResource?
  /// The operation that holds it; nil when none does.
  var holder: (any ClaimHolder)?
  /// Where it stands among what is held of the resource.
  var index = 0
  /// Counts what was taken, to list it in that order.
  var number: UInt64 = 0
  /// How many of the units are the resource's own; the others are lent by groups.
  var taken = 0
  var loans: [Loan] = []
  /// The start that rates have counted, while it has not begun.
  var start: RateBucket.Start?
  /// How many are lent to children at this moment.
  var lent = 0
  /// The line of children that wait for more than is free, from the first one on.
  var line: ClaimLine?

  struct Loan {
    let lender: ClaimDemand
    let units: Int
  }

  init(name: String, _ request: ClaimRequest) {
    self.name = name
    subject = request.subject
    whenBusy = request.whenBusy
    switch request.amount {
    case .place(let limit):
      units = 1
      places = limit
      rates = []
      pool = nil
    case .units(let count, let pool):
      units = count
      places = 0
      rates = []
      self.pool = pool
    case .start(let rate):
      units = 0
      places = 0
      rates = [rate]
      pool = nil
    }
  }

  /// Two demands on the same resource: units add up, and a place is one place.
  private init(_ first: ClaimDemand, and other: ClaimDemand) {
    name = first.name
    subject = first.subject
    pool = first.pool
    if pool != nil {
      let (sum, hasOverflown) = first.units.addingReportingOverflow(other.units)
      units = hasOverflown ? .max : sum
    } else {
      units = first.units
    }
    places = min(first.places, other.places)
    rates = first.rates + other.rates.filter { !first.rates.contains($0) }
    // Failing wins over skipping, and both over waiting.
    whenBusy = other.whenBusy.rank > first.whenBusy.rank ? other.whenBusy : first.whenBusy
  }

  /// How many units may be in use when this operation has its own: the claim's limit, or the
  /// capacity that the pool has at this moment.
  var limit: Int { pool?.capacity ?? places }
  var isRate: Bool { !rates.isEmpty }
  /// How many units children may have.
  var lendable: Int { units - lent }
  /// Whether there will never be enough for an operation whose groups have so many units.
  func isExcessive(besides own: Int) -> Bool { units > limit && units > own }

  /// Takes another demand on the same resource in.
  func merged(with other: ClaimDemand) -> ClaimDemand { ClaimDemand(self, and: other) }

  /// The account of what is claimed.
  var resource: ClaimResource {
    guard let knownResource else { trap("“\(name)” is claimed of no account") }
    return knownResource
  }
}

extension [ClaimDemand] {
  /// Adds what a claim asks for.
  mutating func add(name: String, _ requests: [ClaimRequest]) {
    for request in requests {
      let demand = ClaimDemand(name: name, request)
      if let index = firstIndex(where: { $0.subject == demand.subject }) {
        self[index] = self[index].merged(with: demand)
      } else {
        append(demand)
      }
    }
  }
}
