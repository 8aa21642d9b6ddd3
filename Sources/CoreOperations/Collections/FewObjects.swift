/// A list of objects that stores two objects without an array.
///
/// In a chain, one operation waits for the end of another, and in a binary tree two do. The list retains its
/// objects, and passes them on without counting references, because counting took a third of the time of a
/// chain.
@safe
package struct FewObjects<Object: AnyObject>: ~Copyable {
  private var first: Unmanaged<Object>?
  private var second: Unmanaged<Object>?
  /// The objects from the third on; nil if there are fewer than three.
  private var others: [Object]?

  package init() {}

  deinit {
    unsafe first?.release()
    unsafe second?.release()
  }

  var isEmpty: Bool { unsafe first == nil }

  /// Appends an object that is already retained, and that the list releases when it is removed.
  mutating func append(retained object: Unmanaged<Object>) {
    if unsafe first == nil {
      unsafe first = object
    } else if unsafe second == nil {
      unsafe second = object
    } else {
      if others == nil { others = [] }
      unsafe others?.append(object.takeRetainedValue())
    }
  }

  package mutating func append(_ object: Object) {
    unsafe append(retained: .passRetained(object))
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

  borrowing func allSatisfy(_ fits: (Object) -> Bool) -> Bool {
    if let first = unsafe first, unsafe !first._withUnsafeGuaranteedRef(fits) { return false }
    if let second = unsafe second, unsafe !second._withUnsafeGuaranteedRef(fits) { return false }
    return others?.allSatisfy(fits) ?? true
  }

  borrowing func forEach(_ body: (Object) -> Void) {
    if let first = unsafe first { unsafe first._withUnsafeGuaranteedRef(body) }
    if let second = unsafe second { unsafe second._withUnsafeGuaranteedRef(body) }
    guard let others else { return }
    for object in others { body(object) }
  }
}
