import AdvancedOperations

/// Which instance works on which order, as a value: what a store that several share has to do.
///
/// Times are given, so that the table can be tried without waiting.
public struct LeaseTable: Sendable {
  /// An instance holds an order.
  public struct Lease: Hashable, Sendable {
    /// The instance.
    public var holder: String
    /// How often the order has changed hands: what a holder writes has to carry the same number.
    public var epoch: Int
  }

  /// The time between two heartbeats.
  public let heartbeat: Duration
  private var beats: [String: Duration] = [:]
  private var leases: [OrderID: Lease] = [:]

  /// Creates a table without leases.
  ///
  /// - Parameter heartbeat: The time between two heartbeats.
  public init(heartbeat: Duration) { self.heartbeat = heartbeat }

  /// After how long without a heartbeat an instance has missed two of them.
  ///
  /// The second counts as missed when it is late by half of the time between two.
  public static func patience(_ heartbeat: Duration) -> Duration { heartbeat * 5 / 2 }

  /// An instance lives.
  public mutating func beat(_ instance: String, at now: Duration) { beats[instance] = now }

  /// An instance ends: others may take its orders at once.
  public mutating func resign(_ instance: String) { beats[instance] = nil }

  /// Whether an instance was heard of in time.
  public func isAlive(_ instance: String, at now: Duration) -> Bool {
    beats[instance].map { now - $0 < Self.patience(heartbeat) } ?? false
  }

  /// The lease of an order; nil when nobody has ever held it.
  public func lease(of order: OrderID) -> Lease? { leases[order] }

  /// Has an instance hold an order, unless another one that lives does.
  ///
  /// - Returns: The new lease; nil when the other one keeps it.
  public mutating func take(
    _ order: OrderID,
    by instance: String,
    at now: Duration
  ) -> Lease? {
    let old = leases[order]
    if let old, old.holder != instance, isAlive(old.holder, at: now) { return nil }
    let lease = Lease(holder: instance, epoch: (old?.epoch ?? 0) + 1)
    leases[order] = lease
    return lease
  }

  /// Throws unless a lease is that of its order now.
  ///
  /// - Throws: ``LeaseLost``.
  public func check(_ lease: Lease?, of order: OrderID) throws {
    guard let lease, leases[order] == lease else { throw LeaseLost(order: order) }
  }
}
