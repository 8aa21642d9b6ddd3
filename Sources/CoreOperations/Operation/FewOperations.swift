/// A list of operations that has room for two without an array: in a chain, one waits for the end
/// of another, and in a binary tree two do.
///
/// It retains what is in it, and hands it out without counting: that was a third of the time of a
/// chain.
@safe
package struct FewOperations: ~Copyable {
  private var first: Unmanaged<Operation>?
  private var second: Unmanaged<Operation>?
  /// None is made for fewer than three.
  private var others: [Operation]?

  package init() {}

  deinit {
    unsafe first?.release()
    unsafe second?.release()
  }

  var isEmpty: Bool { unsafe first == nil }

  /// Appends an operation that is retained, and isn't any more when it is removed.
  mutating func append(retained operation: Unmanaged<Operation>) {
    if unsafe first == nil {
      unsafe first = operation
    } else if unsafe second == nil {
      unsafe second = operation
    } else {
      if others == nil { others = [] }
      unsafe others?.append(operation.takeRetainedValue())
    }
  }

  package mutating func append(_ operation: Operation) {
    unsafe append(retained: .passRetained(operation))
  }

  mutating func removeAll() {
    guard let first = unsafe first else { return }
    unsafe self.first = nil
    unsafe first.release()
    guard let second = unsafe second else { return }
    unsafe self.second = nil
    unsafe second.release()
    others = nil
  }

  /// Whether all of them are in the queue of a scheduler.
  borrowing func areAll(in scheduler: ObjectIdentifier?) -> Bool {
    guard let scheduler else { return isEmpty }
    if let first = unsafe first, unsafe !first._withUnsafeGuaranteedRef({ $0.isIn(scheduler) }) {
      return false
    }
    if let second = unsafe second, unsafe !second._withUnsafeGuaranteedRef({ $0.isIn(scheduler) }) {
      return false
    }
    return others?.allSatisfy { $0.isIn(scheduler) } ?? true
  }

  borrowing func forEach(_ body: (Operation) -> Void) {
    if let first = unsafe first { unsafe first._withUnsafeGuaranteedRef(body) }
    if let second = unsafe second { unsafe second._withUnsafeGuaranteedRef(body) }
    guard let others else { return }
    for operation in others { body(operation) }
  }
}
