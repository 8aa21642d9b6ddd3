#if canImport(os)
import AdvancedOperations
import Synchronization
import os

final class Signposts: OperationObserver {
  private let signposter = OSSignposter(subsystem: "org.example.app", category: "operations")
  private let intervals = Mutex<[ObjectIdentifier: OSSignpostIntervalState]>([:])

  func operationDidStart(_ operation: AdvancedOperation) {
    guard signposter.isEnabled else { return }
    let name = operation.name ?? "operation"
    let id = signposter.makeSignpostID()
    let interval = signposter.beginInterval("operation", id: id, "\(name)")
    intervals.withLock { $0[ObjectIdentifier(operation)] = interval }
  }

  func operationDidFinish(_ operation: AdvancedOperation, outcome: OperationOutcome) {
    // An operation has no interval if it never started, or if nothing recorded signposts then.
    let interval = intervals.withLock { $0.removeValue(forKey: ObjectIdentifier(operation)) }
    if let interval { signposter.endInterval("operation", interval) }
  }
}
#endif
