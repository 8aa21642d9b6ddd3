/// The department that sends parcels.
public protocol Shipping: Sendable {
  /// Has a parcel sent, unless one was for this order.
  ///
  /// - Parameters:
  ///   - order: The order's ID, under which a parcel is sent once.
  ///   - lines: What is in the parcel.
  /// - Returns: The number of the parcel.
  /// - Throws: Any error when it isn't known whether a parcel was sent; the request is repeated then.
  func ship(_ order: OrderID, lines: [OrderLine]) async throws -> String

  /// Calls a parcel back, and sees to it that none is sent for the order any more.
  ///
  /// It can be repeated, and called for an order of which it isn't known whether a parcel was sent.
  func recall(_ order: OrderID) async throws
}
