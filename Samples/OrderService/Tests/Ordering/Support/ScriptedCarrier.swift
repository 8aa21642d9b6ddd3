import OrderWorkflow
import Synchronization

/// A carrier that does what a test says.
final class ScriptedCarrier: Shipping {
  struct OnStrike: Error, CustomStringConvertible {
    var description: String { "The carrier is on strike." }
  }

  private struct State {
    var parcels: [OrderID: String] = [:]
    var recalled: Set<OrderID> = []
    var failures = 0
  }

  private let state = Mutex(State())

  /// So many of the next requests fail.
  var failures: Int {
    get { state.withLock { $0.failures } }
    set { state.withLock { $0.failures = newValue } }
  }

  /// What is on its way.
  var parcels: [OrderID: String] { state.withLock { $0.parcels } }

  /// The orders whose parcels were called back, or forbidden.
  var recalled: Set<OrderID> { state.withLock { $0.recalled } }

  func ship(_ order: OrderID, lines: [OrderLine]) throws -> String {
    try state.withLock { state in
      if state.recalled.contains(order) { throw RollbackHasBegun(order: order) }
      if state.failures > 0 {
        state.failures -= 1
        throw OnStrike()
      }
      state.parcels[order] = "parcel of \(order)"
      return "parcel of \(order)"
    }
  }

  func recall(_ order: OrderID) {
    state.withLock { state in
      state.parcels[order] = nil
      state.recalled.insert(order)
    }
  }
}
