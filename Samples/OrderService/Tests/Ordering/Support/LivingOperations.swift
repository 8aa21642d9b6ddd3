import AdvancedOperations
import Synchronization

/// Counts the operations of a name, and those that are still in memory.
final class LivingOperations: OperationObserver {
  private struct Reference {
    weak var operation: AdvancedOperation?
  }

  private let name: String
  private let references = Mutex<[Reference]>([])

  init(named name: String) { self.name = name }

  /// How many have begun.
  var seen: Int { references.withLock { $0.count } }

  /// How many of them are in memory.
  var living: Int {
    let operations = references.withLock { $0.compactMap(\.operation) }
    return operations.count
  }

  func operationDidStart(_ operation: AdvancedOperation) {
    guard operation.name == name else { return }
    references.withLock { $0.append(Reference(operation: operation)) }
  }
}
