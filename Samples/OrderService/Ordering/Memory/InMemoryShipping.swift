import Synchronization

/// A carrier that sends everything at once, and forgets with its process.
public final class InMemoryShipping: Shipping {
  private let parcels = Mutex<(sent: [OrderID: String], recalled: Set<OrderID>)>(([:], []))

  /// Creates a carrier.
  public init() {}

  /// Sends a parcel.
  public func ship(_ order: OrderID, lines: [OrderLine]) throws -> String {
    try parcels.withLock { parcels in
      if parcels.recalled.contains(order) { throw RollbackHasBegun(order: order) }
      parcels.sent[order] = "parcel-\(order)"
      return "parcel-\(order)"
    }
  }

  /// Calls a parcel back.
  public func recall(_ order: OrderID) {
    parcels.withLock { parcels in
      parcels.sent[order] = nil
      parcels.recalled.insert(order)
    }
  }

  /// The orders of which a parcel was sent, and not called back.
  public var sent: Set<OrderID> { parcels.withLock { Set($0.sent.keys) } }
}
