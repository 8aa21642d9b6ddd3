import CoreOperations

/// An operation that an account knows, from when it wanted its claims to when it gave them back or gave up.
///
/// Only touched with the lock of its domain held. An object, so that lines and resources point at
/// it, and nothing about it is looked up or copied.
final class Claimant: LineMember {
  let operation: any ClaimHolder
  let demands: [ClaimDemand]
  /// What it said when it last wanted them.
  var terms = Terms()
  var wasMoved = false
  /// Where it waits; nil also when it was told to try again and has not come back.
  var place: Place?
  /// Whether its clock is about to be looked at, so that it can be offered its claims.
  var awaitsTime = false
  var hasItsClaims = false

  /// What an operation says when it wants its claims.
  struct Terms {
    /// Around the operation, the innermost first.
    var groups: [ObjectNumber] = []
    /// The clock by which its rates go; nil when it has none.
    var clock: OperationClock?
    /// Whether it waits for what is busy, whatever its claims say.
    var alwaysWaits = false
  }

  struct Place {
    var line: ClaimLine
    /// What it waits for.
    let demand: ClaimDemand
    /// Tells it from other places in the same line.
    let number: UInt64
  }

  init(_ operation: any ClaimHolder, _ demands: [ClaimDemand]) {
    self.operation = operation
    self.demands = demands
  }

  override var claimant: Claimant? { self }
}
