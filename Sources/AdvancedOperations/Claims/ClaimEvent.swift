package import CoreOperations

/// What happens to the claims of an operation.
package enum ClaimEvent: Sendable {
  /// It has begun to wait; told once.
  case waits
  /// It has all of them.
  case taken
  case givenBack

  package typealias Sink = @Sendable (ClaimEvent, Operation) -> Void
}
