import CoreOperations

/// What claims know of an operation that has them or waits for them.
///
/// A protocol, because the account stands below the operation: it calls this, and knows nothing
/// else of it. The methods are called without the lock of the domain.
protocol ClaimHolder: LayeredOperation {
  /// What it claims, until it is given back.
  var claims: [ClaimDemand] { get }
  /// Gives time to what it waits for.
  var clock: OperationClock { get }
  /// A number of an operation that may run others; asked with the lock of the domain held.
  var parentNumber: ObjectNumber? { get }

  /// It waits for something else than before, or has come to the front.
  func claimWaitMoved()
}
