/// Units of a ``ResourcePool`` that an operation holds while it runs.
///
/// ```swift
/// let licences = ResourcePool("licences", capacity: 3)
/// for scan in scans { scan.addCondition(ResourceUnits(1, of: licences)) }
/// ```
///
/// First come, first served: while an operation waits for many units, operations that came later
/// don't take the few that are free, so a large claim is not starved by small ones. An operation
/// that its queue could not start anyway lets later ones pass. An operation comes when a worker of
/// its queue gets to it: several that became ready together do so in any order.
///
/// An operation that needs more than the pool has in all fails with
/// ``OperationClaimError/exceedsCapacity(needed:capacity:)``, whatever is to be done when the pool
/// is busy: how much is needed often comes from data. Several claims to one pool add up.
public struct ResourceUnits: OperationClaim {
  /// The name of the pool.
  public let name: String
  /// What is claimed.
  public let requests: [ClaimRequest]

  /// Claims units of a pool.
  ///
  /// - Parameters:
  ///   - count: How many; none are always free.
  ///   - pool: Whose units.
  ///   - whenBusy: What to do when there aren't enough of them at the moment. With
  ///     ``WhenBusy/cancelHolder`` all operations that hold units are cancelled.
  /// - Precondition: The count isn't negative. The operation's environment has the domain of the
  ///   pool; that is checked when the claim is attached if the operation has an environment by then
  ///   (see ``AdvancedOperation/use(_:)``), and when it gets one otherwise.
  public init(_ count: Int, of pool: ResourcePool, whenBusy: WhenBusy = .wait) {
    guard count >= 0 else {
      trap("ResourceUnits of “\(pool.name)” were made with the count \(count). Give 0 or more.")
    }
    name = pool.name
    let request = ClaimRequest(.pool(pool.number), .units(count, of: pool), whenBusy: whenBusy)
    requests = count == 0 ? [] : [request]
  }
}
