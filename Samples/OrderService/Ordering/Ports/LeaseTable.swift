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

  /// When an instance was heard.
  private struct Beats: Sendable {
    var last: Duration
    /// The first of those that came without a gap.
    var since: Duration
  }

  /// The time between two heartbeats.
  public let heartbeat: Duration
  private var beats: [String: Beats] = [:]
  private var leases: [OrderID: Lease] = [:]

  /// Creates a table without leases.
  ///
  /// - Parameter heartbeat: The time between two heartbeats.
  public init(heartbeat: Duration) { self.heartbeat = heartbeat }

  /// After how long without a heartbeat an instance has missed two of them.
  ///
  /// The second counts as missed when it is late by half of the time between two.
  public static func patience(_ heartbeat: Duration) -> Duration { heartbeat * 5 / 2 }

  /// The longest time between two heartbeats that have no gap between them.
  ///
  /// It is less than ``patience(_:)``: an instance that was heard without a gap for that long was heard
  /// while another one, which it takes for dead, wasn't.
  public static func regularity(_ heartbeat: Duration) -> Duration { heartbeat * 2 }

  /// An instance lives.
  public mutating func beat(_ instance: String, at now: Duration) {
    var heard = beats[instance] ?? Beats(last: now, since: now)
    // After a gap, or when the clock was set back, it begins anew.
    if now < heard.last || now - heard.last > Self.regularity(heartbeat) { heard.since = now }
    heard.last = now
    beats[instance] = heard
  }

  /// An instance ends: others may take its orders at once.
  public mutating func resign(_ instance: String) { beats[instance] = nil }

  /// Whether an instance was heard of in time.
  ///
  /// A heartbeat of the future, from before the clock was set back, doesn't count.
  public func isAlive(_ instance: String, at now: Duration) -> Bool {
    guard let last = beats[instance]?.last else { return false }
    return now - last < Self.patience(heartbeat) && last < now + heartbeat
  }

  /// Whether an instance was heard for so long, without a gap, that it may say who isn't any more.
  ///
  /// After an outage of the table no instance was: each can be heard again before it loses its orders.
  public func canJudge(_ instance: String, at now: Duration) -> Bool {
    beats[instance].map { now - $0.since >= Self.patience(heartbeat) } ?? false
  }

  /// The lease of an order; nil when nobody has ever held it.
  public func lease(of order: OrderID) -> Lease? { leases[order] }

  /// Has an instance hold an order, unless another one does that lives, or may live.
  ///
  /// - Returns: The new lease; nil when the other one keeps it.
  public mutating func take(
    _ order: OrderID,
    by instance: String,
    at now: Duration
  ) -> Lease? {
    let old = leases[order]
    if let old, old.holder != instance, beats[old.holder] != nil,
      isAlive(old.holder, at: now) || !canJudge(instance, at: now)
    {
      return nil
    }
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
