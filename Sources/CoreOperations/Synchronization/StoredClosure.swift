/// A closure that is the value of a ``Locked``, or of another generic place that is changed in
/// place.
///
/// Generic code gets a bare closure inside a thunk. What it writes back is inside another one, also
/// if it has only read the closure: each time its lock was taken, a closure became two calls
/// deeper.
package struct StoredClosure<Closure: Sendable>: Sendable {
  package let call: Closure

  package init(_ closure: Closure) { call = closure }
}

/// A closure that can be taken out once: to be called, or to be released without a call.
package final class RemovableClosure<Closure: Sendable>: Sendable {
  private let closure: Locked<StoredClosure<Closure>?>

  package init(_ closure: Closure) { self.closure = Locked(StoredClosure(closure)) }

  /// Whether the closure was taken out.
  var isTaken: Bool { closure.withLock { $0 == nil } }

  /// Takes the closure out; nil if that was done before.
  package func take() -> StoredClosure<Closure>? { closure.withLock { $0.take() } }
}
