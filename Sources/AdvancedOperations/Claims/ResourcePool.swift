import Synchronization

/// A number of units of something that operations share: memory, licences, connections.
///
/// ```swift
/// let memory = ResourcePool("memory in MB", capacity: 4_096)
/// render.addClaim(ResourceUnits(1_024, of: memory))
/// thumbnail.addClaim(ResourceUnits(64, of: memory))
/// ```
///
/// A pool is an object: another one of the same name is another pool. It belongs to one
/// ``ClaimDomain``, and only operations whose environment has that one may claim its units.
public final class ResourcePool: Sendable {
  /// What the pool is called in errors and explanations.
  public let name: String
  /// Where account is kept of who holds them.
  public let domain: ClaimDomain

  // An atomic, because it is read at each look whether an operation may have units. Relaxed: after
  // a change, the lock of the domain orders it before the look that follows.
  private let units: Atomic<Int>

  /// How many units there are in all; can be changed at any time.
  ///
  /// Operations that wait for units are looked at again, from the first in line on:
  ///
  /// - With more units, those start for which there is enough now.
  /// - With fewer, those that run keep what they hold, and no other operation starts until enough
  ///   was given back. An operation that needs more than the pool has in all now fails with
  ///   ``OperationClaimError/exceedsCapacity(needed:capacity:)`` when its turn comes, as it does
  ///   when it comes later.
  ///
  /// Children of a group that holds units may use those whatever the capacity is by then.
  ///
  /// - Precondition: Not negative.
  public var capacity: Int {
    get { units.load(ordering: .relaxed) }
    set {
      Self.check(newValue, "was given", name)
      units.store(newValue, ordering: .relaxed)
      domain.capacityChanged(of: self)
    }
  }

  /// Creates a pool.
  ///
  /// - Parameters:
  ///   - name: What the pool is called in errors and explanations.
  ///   - capacity: How many units there are.
  ///   - domain: That of the environments of the operations which will claim units.
  /// - Precondition: The capacity isn't negative.
  public init(_ name: String = "", capacity: Int, domain: ClaimDomain = .shared) {
    Self.check(capacity, "was created with", name)
    self.name = name.isEmpty ? "resource pool" : name
    units = Atomic(capacity)
    self.domain = domain
  }

  private static func check(_ capacity: Int, _ verb: String, _ name: String) {
    if capacity >= 0 { return }
    trap("ResourcePool “\(name)” \(verb) the capacity \(capacity). Give 0 or more.")
  }
}

/// Units of a ``ResourcePool`` that an operation holds while it runs.
///
/// ```swift
/// let licences = ResourcePool("licences", capacity: 3)
/// for scan in scans { scan.addClaim(ResourceUnits(1, of: licences)) }
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
  ///   (see ``AdvancedOperation/environment``), and when it gets one otherwise.
  public init(_ count: Int, of pool: ResourcePool, whenBusy: WhenBusy = .wait) {
    guard count >= 0 else {
      trap("ResourceUnits of “\(pool.name)” were created with the count \(count). Give 0 or more.")
    }
    name = pool.name
    let subject = ClaimRequest.Subject.pool(ObjectIdentifier(pool))
    requests =
      count == 0 ? [] : [ClaimRequest(subject, .units(count, of: pool), whenBusy: whenBusy)]
  }
}
