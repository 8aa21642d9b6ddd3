public import OrderWorkflow

/// The shop's own carrier: a parcel is a row of the database.
///
/// What else the database throws than its answers is `StoreUnavailable`: its trouble fails no order.
public struct Warehouse: Shipping {
  private let book: any ParcelBook

  /// Creates the warehouse of a shop.
  public init(_ book: any ParcelBook) { self.book = book }

  /// Sends a parcel, unless one was sent for the order.
  public func ship(_ order: OrderID, lines: [OrderLine]) async throws -> String {
    try await translating { try await book.sendParcel(for: order) }
  }

  /// Calls a parcel back, and forbids another one.
  public func recall(_ order: OrderID) async throws {
    try await translating { try await book.callBackParcel(of: order) }
  }

  private func translating<Value>(_ body: () async throws -> Value) async throws -> Value {
    do {
      return try await body()
    } catch  where error is RollbackHasBegun || error is LeaseLost || error is StoreContradiction {
      throw error
    } catch let error as CancellationError {
      throw error
    } catch {
      throw StoreUnavailable(reason: "\(error)")
    }
  }
}
