/// Why a request for an order was refused: nothing of it was kept.
public enum OrderRefusal: Error, Hashable, Sendable, CustomStringConvertible {
  /// The draft has mistakes; all of them.
  case invalid([OrderProblem])

  /// The key belongs to an order with other contents.
  case keyReused(OrderID)

  /// So many orders are open that another one would wait too long.
  case full(open: Int, retryAfter: Duration)

  /// The desk is closing: another program, or this one after its restart, will take orders.
  case draining(retryAfter: Duration)

  /// What is wrong, in one sentence or several.
  public var description: String {
    switch self {
    case .invalid(let problems): problems.map(\.description).joined(separator: " ")
    case .keyReused(let id):
      "The key belongs to order \(id), which has other contents: a new order needs a new key."
    case .full(let open, _): "\(open) orders are open; try again later."
    case .draining: "The service is closing; try again later."
    }
  }
}
