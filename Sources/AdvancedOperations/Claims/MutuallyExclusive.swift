/// A claim that lets only one operation of a category, or a limited number of them, run at the same time.
///
/// The category is a type, or a name:
///
/// ```swift
/// enum Database {}
/// migrate.addClaim(MutuallyExclusive<Database>())
/// upload.addClaim(MutuallyExclusive("uplink", limit: 3))
/// ```
///
/// Operations of a category exclude each other in all queues whose environments share a ``ClaimDomain``, as
/// they do by default. If a group holds a category, it admits one child to the category at a time; see
/// ``OperationClaim``.
///
/// **Different limits.** The limit of an operation is the number of operations of the category that may run
/// while this operation runs, this operation included. If operations of a category have different limits, the
/// lowest limit applies. An operation doesn't start if its start would exceed its own limit or the limit of a running
/// operation. An operation with the limit 1 therefore never runs next to another operation of its category.
/// With different limits, a category works as a readers-writer lock:
///
/// ```swift
/// read.addClaim(MutuallyExclusive("catalogue", limit: 8))
/// write.addClaim(MutuallyExclusive("catalogue"))
/// ```
///
/// Waiting operations start in FIFO order, so later readers don't overtake a waiting writer. An operation
/// joins this order when a worker of its queue requests its claims. Operations that become ready at the same
/// time may request their claims in any order; see <doc:LimitOfOne>.
public struct MutuallyExclusive<Category>: OperationClaim {
  /// The name of the category.
  public let name: String
  /// The request for a place of the category.
  public let requests: [ClaimRequest]

  /// Creates a claim for a category that is a type.
  ///
  /// - Parameters:
  ///   - limit: The number of operations of the category that may run while this operation runs, this
  ///     operation included. The operation also can't start if its start would exceed the limit of a
  ///     running operation of the category.
  ///   - whenBusy: The behavior of the operation if it can't start because of a limit.
  /// - Precondition: The limit is at least 1.
  public init(limit: Int = 1, whenBusy: WhenBusy = .wait) {
    self.init(
      name: "\(Category.self)",
      .category(ObjectIdentifier(Category.self)),
      limit: limit,
      whenBusy: whenBusy
    )
  }

  private init(name: String, _ subject: ClaimRequest.Subject, limit: Int, whenBusy: WhenBusy) {
    guard limit >= 1 else {
      trap("MutuallyExclusive “\(name)” was created with the limit \(limit). Give 1 or more.")
    }
    self.name = name
    requests = [ClaimRequest(subject, .place(limit: limit), whenBusy: whenBusy)]
  }
}

extension MutuallyExclusive where Category == String {
  /// Creates a claim for a category that is a name.
  ///
  /// - Parameters:
  ///   - name: The name of the category. Claims with equal names are for the same category.
  ///   - limit: The number of operations of the category that may run while this operation runs, this
  ///     operation included. The operation also can't start if its start would exceed the limit of a
  ///     running operation of the category.
  ///   - whenBusy: The behavior of the operation if it can't start because of a limit.
  /// - Precondition: The limit is at least 1.
  public init(_ name: String, limit: Int = 1, whenBusy: WhenBusy = .wait) {
    self.init(name: name, .name(name), limit: limit, whenBusy: whenBusy)
  }
}
