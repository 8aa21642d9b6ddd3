/// A closure that is called when an operation has finished, unless it is removed before.
///
/// It is for code that needs the end of an operation only as long as something else exists:
/// nothing of it stays with an operation that lives longer.
package struct EndWatch: Sendable {
  private let closure: RemovableClosure<Operation>
  /// Not retained: an operation that never ends keeps its watches.
  private weak let operation: Operation?

  fileprivate init(of operation: Operation, _ body: @escaping @Sendable (Operation) -> Void) {
    self.operation = operation
    closure = RemovableClosure(body)
  }

  fileprivate func begin(_ operation: Operation) {
    if !operation.register(.removable(closure)) { closure.call(operation) }
  }

  /// Takes the closure back; does nothing if it was called.
  ///
  /// - Complexity: O(1), amortised.
  package func remove() {
    if closure.remove() { operation?.withLinks { $0.extra?.waiters.waitCancelled() } }
  }
}

extension Operation {
  /// Runs a closure when the operation has finished, unless the watch is removed before; at once if
  /// it has finished.
  ///
  /// - Parameter body: Gets the operation, which its queue may have let go of by then.
  /// - Returns: The watch, to be removed by what doesn't need it any more.
  package final func watchEnd(_ body: @escaping @Sendable (Operation) -> Void) -> EndWatch {
    let watch = EndWatch(of: self, body)
    watch.begin(self)
    return watch
  }
}

/// A closure that is called once, or removed.
package final class RemovableClosure<Argument>: Sendable {
  private let body: Locked<StoredClosure<@Sendable (Argument) -> Void>?>

  package init(_ body: @escaping @Sendable (Argument) -> Void) {
    self.body = Locked(StoredClosure(body))
  }

  /// Whether it was called or removed.
  var isOver: Bool { body.withLock { $0 == nil } }

  private func take() -> StoredClosure<@Sendable (Argument) -> Void>? {
    body.withLock { body in
      let taken = body
      body = nil
      return taken
    }
  }

  func call(_ argument: Argument) { take()?.call(argument) }

  /// - Returns: Whether it was neither called nor removed before.
  package func remove() -> Bool { take() != nil }
}
