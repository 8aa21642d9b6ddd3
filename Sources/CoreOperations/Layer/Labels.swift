extension Operation {
  /// What texts call the operation: its name, or the type when there is none.
  package final var label: String { name ?? "\(type(of: self))" }
}

extension OperationQueue {
  /// What texts call the queue: the name that was set, or the type.
  package final var label: String { givenName ?? "\(type(of: self))" }
}

/// A number of things in a text, in the singular for one.
package func counted(_ count: Int, _ noun: String) -> String {
  "\(count) \(noun)\(count == 1 ? "" : "s")"
}
