/// What one operation asks of one resource, with all its claims on it taken together.
struct ClaimDemand: Sendable {
  let name: String
  var key: ClaimKey
  /// How many units, or places, are held; 0 for a rate.
  private(set) var units: Int
  /// How many there may be in use when this operation is in.
  private(set) var limit: Int
  /// The rates that have to allow a start.
  private(set) var rates: [RateBucket.Rate] = []
  private(set) var whenBusy: WhenBusy
  /// The pool that the units are of.
  private(set) var pool: ResourcePool?

  init(name: String, _ request: ClaimRequest) {
    self.name = name
    key = ClaimKey(request.subject)
    whenBusy = request.whenBusy
    switch request.amount {
    case .place(let limit):
      units = 1
      self.limit = limit
    case .units(let count, let pool):
      units = count
      limit = pool.capacity
      self.pool = pool
    case .start(let rate):
      units = 0
      limit = 0
      rates = [rate]
    }
  }

  var isRate: Bool { !rates.isEmpty }
  /// Whether there will never be enough.
  var isExcessive: Bool { units > limit }

  /// Takes another demand on the same resource in: units add up, and a place is one place.
  mutating func merge(_ other: ClaimDemand) {
    if pool != nil {
      let (sum, hasOverflown) = units.addingReportingOverflow(other.units)
      units = hasOverflown ? .max : sum
    }
    limit = min(limit, other.limit)
    for rate in other.rates where !rates.contains(rate) { rates.append(rate) }
    // What forbids to wait goes before what allows it, and of two that do the first.
    if other.whenBusy.rank > whenBusy.rank { whenBusy = other.whenBusy }
  }
}

extension [ClaimDemand] {
  /// Adds what a claim asks for.
  mutating func add(name: String, _ requests: [ClaimRequest]) {
    for request in requests {
      let demand = ClaimDemand(name: name, request)
      if let index = firstIndex(where: { $0.key == demand.key }) {
        self[index].merge(demand)
      } else {
        append(demand)
      }
    }
  }
}

extension WhenBusy {
  fileprivate var rank: Int {
    switch self {
    case .wait: 0
    case .cancelHolder: 1
    case .fail, .skip: 2
    }
  }
}
