/// Lets only one operation of a category, or a few, run at a time.
///
/// The category is a type, or a name:
///
/// ```swift
/// enum Database {}
/// migrate.addClaim(MutuallyExclusive<Database>())
/// upload.addClaim(MutuallyExclusive("uplink", limit: 3))
/// ```
///
/// Operations of a category exclude each other wherever they run, if their environments share an
/// ``ClaimDomain``, as they do by default. A category that a group holds is entered by its
/// children one at a time; see ``OperationClaim``.
///
/// **Different limits.** A limit says how many operations of the category may run beside each other
/// while this one runs, itself included. Where operations of one category have different limits,
/// the strictest decides: an operation starts when the number that then run exceeds neither its own
/// limit nor that of any operation that runs. So one with the limit 1 never runs beside another one
/// of its category, and a category works as a lock for readers and writers:
///
/// ```swift
/// read.addClaim(MutuallyExclusive("catalogue", limit: 8))
/// write.addClaim(MutuallyExclusive("catalogue"))
/// ```
///
/// Operations that wait start in the order in which they came, so that readers that come later
/// don't overtake a writer that waits. An operation comes when a worker of its queue gets to it:
/// several that became ready together do so in any order; see <doc:LimitOfOne>.
public struct MutuallyExclusive<Category>: OperationClaim {
  /// The category's name.
  public let name: String
  /// What is claimed.
  public let requests: [ClaimRequest]

  /// Claims a category that is a type.
  ///
  /// - Parameters:
  ///   - limit: How many operations of the category may run at a time while this one does; of
  ///     different limits, the strictest decides.
  ///   - whenBusy: What to do when that many run.
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
  /// Claims a category that is a name.
  ///
  /// - Parameters:
  ///   - name: Equal names exclude each other.
  ///   - limit: How many operations of the category may run at a time while this one does; of
  ///     different limits, the strictest decides.
  ///   - whenBusy: What to do when that many run.
  /// - Precondition: The limit is at least 1.
  public init(_ name: String, limit: Int = 1, whenBusy: WhenBusy = .wait) {
    self.init(name: name, .name(name), limit: limit, whenBusy: whenBusy)
  }
}
