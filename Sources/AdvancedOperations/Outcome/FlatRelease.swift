import CoreOperations

/// Releases what holds others of its kind, as deep as a program likes, without recursion.
///
/// The release of a failure in a failure, of a condition in a condition or of a group in a group
/// would otherwise nest as many deinitialisers. The first one of a thread works through a list;
/// those that run because of it add what they held.
enum FlatRelease {
  private final class List {
    var values: [any Sendable] = []
  }

  /// Of what a thread is releasing.
  private static let current = ThreadLocal<List>()

  /// Lets go of what a dying object held.
  ///
  /// - Parameter value: Moved out of the object, which must not hold it any more.
  /// - Complexity: O(n), n the number of objects that die, with constant stack depth.
  static func release(_ value: consuming some Sendable) {
    if let list = current.value {
      list.values.append(consume value)
      return
    }
    let list = List()
    list.values.append(consume value)
    current.value = list
    while let next = list.values.popLast() { _ = consume next }
    withExtendedLifetime(list) { current.value = nil }
  }
}
