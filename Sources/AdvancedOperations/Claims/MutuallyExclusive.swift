/// Lets only one operation of a category, or a few, run at a time.
///
/// The category is a type, or a name:
///
/// ```swift
/// enum Database {}
/// migrate.addCondition(MutuallyExclusive<Database>())
/// upload.addCondition(MutuallyExclusive("uplink", limit: 3))
/// ```
///
/// Operations of a category exclude each other wherever they run, if their environments share an
/// ``ExclusivityDomain``, as they do by default. A category that a group holds is entered by its
/// children one at a time; see ``OperationClaim``.
public struct MutuallyExclusive<Category>: OperationClaim {
  /// The category's name.
  public let name: String
  /// What is claimed.
  public let requests: [ClaimRequest]

  /// Claims a category that is a type.
  ///
  /// - Parameters:
  ///   - limit: How many may run at a time; each operation looks at its own number.
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

  private init(name: String, _ subject: ClaimKey.Subject, limit: Int, whenBusy: WhenBusy) {
    guard limit >= 1 else {
      trap("MutuallyExclusive “\(name)” was made with the limit \(limit). Give 1 or more.")
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
  ///   - limit: How many may run at a time; each operation looks at its own number.
  ///   - whenBusy: What to do when that many run.
  /// - Precondition: The limit is at least 1.
  public init(_ name: String, limit: Int = 1, whenBusy: WhenBusy = .wait) {
    self.init(name: name, .name(name), limit: limit, whenBusy: whenBusy)
  }
}
