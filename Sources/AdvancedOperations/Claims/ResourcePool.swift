/// A number of units of something that operations share: memory, licences, connections.
///
/// ```swift
/// let memory = ResourcePool("memory in MB", capacity: 4_096)
/// render.addCondition(ResourceUnits(1_024, of: memory))
/// thumbnail.addCondition(ResourceUnits(64, of: memory))
/// ```
///
/// A pool is an object: another one of the same name is another pool. It belongs to one
/// ``ExclusivityDomain``, and only operations whose environment has that one may claim its units.
public final class ResourcePool: Sendable {
  /// What the pool is called in errors and explanations.
  public let name: String
  /// How many units there are in all.
  public let capacity: Int
  /// Where account is kept of who holds them.
  public let domain: ExclusivityDomain

  let number = ObjectNumber()

  /// Creates a pool.
  ///
  /// - Parameters:
  ///   - name: What the pool is called in errors and explanations.
  ///   - capacity: How many units there are.
  ///   - domain: That of the environments of the operations which will claim units.
  /// - Precondition: The capacity isn't negative.
  public init(_ name: String = "", capacity: Int, domain: ExclusivityDomain = .shared) {
    guard capacity >= 0 else {
      trap("ResourcePool “\(name)” was made with the capacity \(capacity). Give 0 or more.")
    }
    self.name = name.isEmpty ? "resource pool" : name
    self.capacity = capacity
    self.domain = domain
  }
}
