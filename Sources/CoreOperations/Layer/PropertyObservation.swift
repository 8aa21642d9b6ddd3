import Synchronization

extension Operation {
  /// Whether a property was ever observed; as long as none was, this is all that changes cost.
  package final var wasObserved: Bool { isObserved.load(ordering: .acquiring) }

  /// Notifies observers of properties, if there are any; to be called without a lock.
  package final func valuesMayHaveChanged() { valueObservers?.look(at: self) }
}
