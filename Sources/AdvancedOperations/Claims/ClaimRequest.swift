/// A part of a claim: the amount of one resource that an operation needs.
///
/// You can't create a request yourself. If you write a claim, return the requests of the module's own claims,
/// such as ``MutuallyExclusive`` and ``RateLimit``:
///
/// ```swift
/// struct PrinterAccess: OperationClaim {
///   let name = "printer"
///   let requests =
///     MutuallyExclusive("printer").requests
///     + RateLimit("printer", 10, per: .seconds(60)).requests
/// }
/// ```
public struct ClaimRequest: Sendable {
  /// The amount of a request.
  package enum Amount: Sendable {
    /// A place among a limited number of places.
    case place(limit: Int)
    /// Units of a pool.
    case units(Int, of: ResourcePool)
    /// A start that all the given rates allow, with the number of tokens that it takes.
    case start([RateBucket.Rate], cost: Int)
  }

  /// The subject of a request, which identifies the resource.
  package enum Subject: Hashable, Sendable {
    case category(ObjectIdentifier)
    case name(String)
    /// A pool, identified by its address.
    ///
    /// A claim keeps its pool alive. If a pool without claims is deallocated, a later pool at the same
    /// address may reuse its resource, which is in its initial state.
    case pool(ObjectIdentifier)
    case rate(String)
  }

  package let subject: Subject
  package private(set) var amount: Amount
  package private(set) var whenBusy: WhenBusy
  /// The name of the claim that was attached.
  fileprivate(set) var name = ""

  package init(_ subject: Subject, _ amount: Amount, whenBusy: WhenBusy) {
    self.subject = subject
    self.amount = amount
    self.whenBusy = whenBusy
  }

  /// The number of tokens that a start takes; 0 unless the claim is for a rate.
  var cost: Int { if case .start(_, let cost) = amount { cost } else { 0 } }
  /// The number of units, or places, that the operation holds; 0 for a rate.
  var units: Int {
    switch amount {
    case .place: 1
    case .units(let count, _): count
    case .start: 0
    }
  }

  /// The number of operations that may hold a place at the same time, by the limit of this claim; nil unless
  /// the claim is for a place.
  var limit: Int? { if case .place(let limit) = amount { limit } else { nil } }
  var pool: ResourcePool? { if case .units(_, let pool) = amount { pool } else { nil } }
  /// The rates that have to allow a start.
  var rates: [RateBucket.Rate] { if case .start(let rates, _) = amount { rates } else { [] } }
  var isRate: Bool { if case .start = amount { true } else { false } }

  /// Merges another request of the same operation for the same subject.
  ///
  /// Units add up. Two requests for a place result in one place.
  fileprivate mutating func merge(_ other: ClaimRequest) {
    switch (amount, other.amount) {
    case (.place(let limit), .place(let otherLimit)): amount = .place(limit: min(limit, otherLimit))
    case (.units(let count, let pool), .units(let otherCount, _)):
      let (sum, hasOverflown) = count.addingReportingOverflow(otherCount)
      amount = .units(hasOverflown ? .max : sum, of: pool)
    case (.start(let rates, let cost), .start(let others, let otherCost)):
      let added = others.filter { !rates.contains($0) }
      amount = .start(rates + added, cost: max(cost, otherCost))
    default: internalError("“\(name)” and “\(other.name)” request one resource in different ways")
    }
    // Failing takes precedence over skipping, and both over waiting.
    if other.whenBusy.rank > whenBusy.rank { whenBusy = other.whenBusy }
  }
}

extension [ClaimRequest] {
  /// Adds the requests of a claim, so that there is one request for each subject.
  mutating func add(name: String, _ requests: [ClaimRequest]) {
    for var request in requests {
      request.name = name
      if let index = firstIndex(where: { $0.subject == request.subject }) {
        self[index].merge(request)
      } else {
        append(request)
      }
    }
  }
}
