import OrderWorkflow
import Synchronization

/// How many clients wait for the outcome of each order: the last that hangs up cancels it.
final class WaitingClients: Sendable {
  private let counts = Mutex<[OrderID: Int]>([:])

  /// How many clients wait for an order.
  func count(_ id: OrderID) -> Int { counts.withLock { $0[id, default: 0] } }

  /// A client waits for an order.
  func begin(_ id: OrderID) { counts.withLock { $0[id, default: 0] += 1 } }

  /// A client doesn't wait any more; returns whether it was the last.
  func end(_ id: OrderID) -> Bool {
    counts.withLock { counts in
      let count = counts[id, default: 1] - 1
      counts[id] = count > 0 ? count : nil
      return count <= 0
    }
  }
}
