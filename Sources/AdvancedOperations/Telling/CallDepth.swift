import CoreOperations

/// How deep a thread is in calls that follow from each other: a child's end that ends its group, a
/// cancel that cancels children, an observer that finishes the next operation.
///
/// How far that goes is for programs to decide, and a stack has an end. What would follow beyond a
/// bound is done by the executor, on another stack.
enum CallDepth {
  /// A level takes some kilobytes of the stack in debug builds, and there are stacks of 512 KiB.
  static let limit = 24

  private static let depth = ThreadNumber()

  /// Whether what follows has to be done on another stack.
  static var isUsedUp: Bool { depth.value >= limit }

  /// Counts as one level until ``leave()``.
  static func enter() { depth.value += 1 }
  static func leave() { depth.value -= 1 }
}

extension AdvancedOperation {
  /// Does what follows from something that has happened to the operation, here or on another stack.
  final func follow(_ body: @escaping @Sendable () -> Void) {
    if CallDepth.isUsedUp { return environment.enqueue(body) }
    CallDepth.enter()
    body()
    CallDepth.leave()
  }

  /// Notifies observers of properties, if there are any, who may call what notifies others.
  final func propertiesMayHaveChanged() {
    if wasObserved { follow { self.valuesMayHaveChanged() } }
  }
}
