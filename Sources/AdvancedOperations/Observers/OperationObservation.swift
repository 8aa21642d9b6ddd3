import CoreOperations

/// An observer's attachment to an operation.
///
/// Dropping it leaves the observer attached.
///
/// ```swift
/// let observation = operation.onFinish { operation, _ in refresh(operation) }
/// observation.remove()
/// ```
public final class OperationObservation: Sendable {
  private let removal: Locked<(@Sendable () -> Void)?>

  init(_ removal: @escaping @Sendable () -> Void) { self.removal = Locked(removal) }

  /// Removes the observer; a callback that is being made goes on.
  ///
  /// Doing so again changes nothing.
  public func remove() {
    let removal = removal.withLock { removal in
      defer { removal = nil }
      return removal
    }
    removal?()
  }
}
