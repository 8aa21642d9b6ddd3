extension Operation {
  /// What texts call the operation: its name, or the type when there is none.
  package final var label: String { name ?? "\(type(of: self))" }
}

extension OperationQueue {
  /// What texts call the queue: the name that was set, or the type.
  package final var label: String { givenName ?? "\(type(of: self))" }
}
