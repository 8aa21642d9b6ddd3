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
