import Synchronization

/// A pool with a number of units that operations share, such as memory, licenses or connections.
///
/// ```swift
/// let memory = ResourcePool("memory in MB", capacity: 4_096)
/// render.addClaim(ResourceUnits(1_024, of: memory))
/// thumbnail.addClaim(ResourceUnits(64, of: memory))
/// ```
///
/// A pool is identified by the object, so two objects with the same name are two pools. A pool belongs to one
/// ``ClaimDomain``. Only operations whose environment has this domain may claim its units.
public final class ResourcePool: Sendable {
  /// The name of the pool in errors and explanations.
  public let name: String
  /// The domain that records the holders of the units.
  public let domain: ClaimDomain

  // The capacity is atomic, because each check for free units reads it. Relaxed ordering suffices, because
  // the lock of the domain orders a change before the next check.
  private let units: Atomic<Int>

  /// The number of units of the pool, which can be changed at any time.
  ///
  /// After a change, the domain checks the waiting operations again, in FIFO order:
  ///
  /// - With more units, the operations for which there are now enough units start.
  /// - With fewer units, running operations keep their units, and no other operation starts until enough
  ///   units are released. An operation that needs more units than the pool now has fails with
  ///   ``OperationClaimError/exceedsCapacity(needed:capacity:)`` when its queue can start it. The same
  ///   applies to operations that request units later.
  ///
  /// Children of a group that holds units may use these units independently of the new capacity.
  ///
  /// - Precondition: The capacity isn't negative.
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
  ///   - name: The name of the pool in errors and explanations.
  ///   - capacity: The number of units.
  ///   - domain: The domain of the environments of the operations that will claim units.
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
/// Units are granted in FIFO order. While an operation waits for many units, later operations don't take the
/// few free units, so small claims don't starve a large claim. An operation that its queue can't start at
/// that moment lets later operations overtake it. An operation joins this order when a worker of its queue
/// requests its units. Operations that become ready at the same time may request their units in any order.
///
/// An operation that needs more units than the pool has fails with
/// ``OperationClaimError/exceedsCapacity(needed:capacity:)``, independently of `whenBusy`. This case is an
/// error and not a trap, because the number of units often depends on data. The units of several claims to
/// one pool add up.
public struct ResourceUnits: OperationClaim {
  /// The name of the pool.
  public let name: String
  /// The request for the units.
  public let requests: [ClaimRequest]

  /// Creates a claim for units of a pool.
  ///
  /// - Parameters:
  ///   - count: The number of units. A claim of 0 units is always free.
  ///   - pool: The pool that has the units.
  ///   - whenBusy: The behavior of the operation if there aren't enough free units. With
  ///     ``WhenBusy/cancelHolder``, all operations that hold units are cancelled.
  /// - Precondition: The count isn't negative. The environment of an operation with this claim must have the
  ///   domain of the pool. If the operation already has an environment (see ``AdvancedOperation/environment``),
  ///   the domain is checked when the claim is attached. Otherwise, the domain is checked when the operation
  ///   gets its environment.
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
