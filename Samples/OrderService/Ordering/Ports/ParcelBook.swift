/// A store that notes parcels next to its orders, in transactions of its own.
public protocol ParcelBook: Sendable {
  /// Notes that a parcel is sent, unless one was for the order.
  ///
  /// - Returns: The number of the parcel.
  /// - Throws: ``RollbackHasBegun`` when the order came to nothing, or a parcel was called back; any
  ///   error of the store.
  func sendParcel(for order: OrderID) async throws -> String

  /// Notes that a parcel is called back, and that none is to be sent any more.
  func callBackParcel(of order: OrderID) async throws
}
