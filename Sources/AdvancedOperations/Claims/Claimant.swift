import CoreOperations

/// An operation that an account knows, from when its conditions were asked or it wanted its claims, to
/// when it gave them back or gave up.
///
/// Only touched with the lock of its domain held. An object, so that lines and resources point at it,
/// and nothing about it is looked up or copied.
final class Claimant {
  let operation: AdvancedOperation
  let demands: [ClaimDemand]
  /// What it said when it last wanted them.
  var terms = Terms()
  /// When it began to wait, as a number; nil if it doesn't.
  ///
  /// Negative for those that were moved to the front.
  var ticket: Int64?
  var wasMoved = false
  /// Where it waits; nil also when it was told to try again and has not come back.
  var place: Place?
  /// Where it stands in its line; for the line alone.
  var position = ClaimLine.Position.inOrder(0)
  var hasItsClaims = false
  /// When its immediate conditions were asked, if they were.
  var askedAt: UInt64?

  /// What an operation says when it wants its claims.
  struct Terms {
    /// Around the operation, the innermost first.
    var groups: [ObjectIdentifier] = []
    /// The clock by which its rates go; nil when it has none.
    var clock: OperationClock?
    /// Whether the operation is to be asked before it tries again.
    var needsReview = false
    /// Whether the operation is in no queue and needs no slot.
    var isByHand = false
  }

  struct Place {
    let line: ClaimLine
    /// What it waits for.
    let demand: ClaimDemand
    /// Tells it from other places in the same line.
    let number: UInt64
  }

  init(_ operation: AdvancedOperation, _ demands: [ClaimDemand]) {
    self.operation = operation
    self.demands = demands
  }
}
