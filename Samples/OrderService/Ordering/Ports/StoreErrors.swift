/// There is not enough of an item.
public struct OutOfStock: Error, Hashable, Sendable, CustomStringConvertible {
  /// The item's number in the shop.
  public var sku: String

  /// How many there are.
  public var stock: Int

  /// How many were wanted.
  public var needed: Int

  /// Creates the error.
  public init(sku: String, stock: Int, needed: Int) {
    self.sku = sku
    self.stock = stock
    self.needed = needed
  }

  /// One sentence with both numbers.
  public var description: String { "“\(sku)”: \(needed) are wanted, and \(stock) are there." }
}

/// A step of an order can't go on, because the order is being rolled back or is final.
public struct RollbackHasBegun: Error, Hashable, Sendable, CustomStringConvertible {
  /// The order.
  public var order: OrderID

  /// Creates the error.
  public init(order: OrderID) { self.order = order }

  /// One sentence with the order's ID.
  public var description: String { "Order \(order) is being rolled back, or is over." }
}

/// The store has failed for so long that the order is left as it is, until the store works again.
///
/// It is also for a carrier whose parcels are in the store. No order fails because of it.
public struct StoreUnavailable: Error, Hashable, Sendable, CustomStringConvertible {
  /// What the store said last.
  public var reason: String

  /// Creates the error.
  public init(reason: String) { self.reason = reason }

  /// One sentence with the reason.
  public var description: String { "The store fails: \(reason)" }
}

/// The store has an order that this version of the program can't read: it is left alone.
public struct OrderUnreadable: Error, Hashable, Sendable, CustomStringConvertible {
  /// The order.
  public var order: OrderID

  /// What is wrong with it.
  public var reason: String

  /// Creates the error.
  public init(order: OrderID, reason: String) {
    self.order = order
    self.reason = reason
  }

  /// One sentence with both.
  public var description: String { "Order \(order) can't be read: \(reason)." }
}

/// There is an order with the ID that a new one was to have.
public struct OrderIDTaken: Error, Hashable, Sendable, CustomStringConvertible {
  /// The ID.
  public var id: OrderID

  /// Creates the error.
  public init(id: OrderID) { self.id = id }

  /// One sentence with the ID.
  public var description: String { "There is an order \(id) already; try again." }
}

/// Another instance works on an order: this one may not write about it any more.
///
/// What this instance has of the order ends where it is. Nothing of it is undone, as the other
/// instance goes on with it.
public struct LeaseLost: Error, Hashable, Sendable, CustomStringConvertible {
  /// The order.
  public var order: OrderID

  /// Creates the error.
  public init(order: OrderID) { self.order = order }

  /// One sentence with the order's ID.
  public var description: String { "Another instance has taken order \(order) over." }
}

/// The store refuses a change for good, because of what it has: somebody has edited it by hand.
///
/// It is the order's trouble, not the store's, which does what it is to do for all others.
public struct StoreContradiction: Error, Hashable, Sendable, CustomStringConvertible {
  /// What the store says.
  public var reason: String

  /// Creates the error.
  public init(reason: String) { self.reason = reason }

  /// One sentence with the reason.
  public var description: String { "The store has something that contradicts it: \(reason)" }
}
