/// One thing that a claim asks of the ``ExclusivityDomain``; those of the claims in the box are all
/// there are.
///
/// A claim of your own passes on the requests of others:
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
  /// How much is claimed.
  package enum Amount: Sendable {
    /// One place of several.
    case place(limit: Int)
    /// Units of a pool.
    case units(Int, of: ResourcePool)
    /// A start.
    case start(RateBucket.Rate)
  }

  package let subject: ClaimKey.Subject
  package let amount: Amount
  package let whenBusy: WhenBusy

  package init(_ subject: ClaimKey.Subject, _ amount: Amount, whenBusy: WhenBusy) {
    self.subject = subject
    self.amount = amount
    self.whenBusy = whenBusy
  }
}

/// What tells one resource of a domain from another.
package struct ClaimKey: Hashable, Sendable {
  package enum Subject: Hashable, Sendable {
    case category(ObjectIdentifier)
    case name(String)
    case pool(ObjectNumber)
    case rate(String)
  }

  let subject: Subject
  /// Whose time a rate goes by; nil for what doesn't look at the time.
  let clock: ObjectNumber?

  init(_ subject: Subject, clock: ObjectNumber? = nil) {
    self.subject = subject
    self.clock = clock
  }
}
