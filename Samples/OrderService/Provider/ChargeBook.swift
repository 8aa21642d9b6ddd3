/// The account of all charges: a value, which neither waits nor writes.
///
/// A key stands for one charge for ever. A repeated request gets what became of the first, so that a
/// client that had no answer can ask again without paying twice. A refund of a charge that never
/// came keeps it from coming: after a refund that was answered, nothing is left of the charge.
struct ChargeBook: Sendable {
  /// What a request for a charge meets.
  enum BeginAction: Equatable, Sendable {
    /// Nothing: it is to be processed, and reported with ``finishing(_:declining:)`` or
    /// ``forget(_:)``.
    case process
    /// A charge that has ended: the answer is that one.
    case answer(Charge)
    /// The same charge, which is being processed.
    case inProgress
    /// Another request under this key.
    case mismatch
  }

  private struct Entry {
    var charge: Charge
    var card: String?
  }

  private var entries: [String: Entry] = [:]
  private var order: [String] = []

  /// All charges, in the order of their coming.
  var charges: [Charge] { order.compactMap { entries[$0]?.charge } }

  /// What is known about a key.
  func charge(_ key: String) -> Charge? { entries[key]?.charge }

  /// A request for a charge has come.
  mutating func begin(_ key: String, _ request: ChargeRequest) -> BeginAction {
    guard let entry = entries[key] else {
      let charge = Charge(
        key: key,
        status: .pending,
        amount: request.amount,
        currency: request.currency,
        reference: request.reference
      )
      insert(Entry(charge: charge, card: request.card))
      return .process
    }
    switch entry.charge.status {
    case .pending: return .inProgress
    case .voided: return .answer(entry.charge)
    case .charged, .declined, .refunded:
      let isSame =
        entry.charge.amount == request.amount && entry.charge.currency == request.currency
        && entry.charge.reference == request.reference
        && entry.card ?? request.card == request.card
      return isSame ? .answer(entry.charge) : .mismatch
    }
  }

  /// What becomes of a charge that was to be processed, and is made or declined; ``take(_:)`` has it
  /// happen.
  ///
  /// - Returns: The charge: voided if a refund has come meanwhile; nil if nothing is known of it.
  func finishing(_ key: String, declining reason: String?) -> Charge? {
    guard var charge = charge(key) else { return nil }
    if charge.status == .pending {
      charge.status = reason == nil ? .charged : .declined
      charge.reason = reason
    }
    return charge
  }

  /// A charge that was to be processed is not made: as if its request had not come.
  mutating func forget(_ key: String) {
    guard entries[key]?.charge.status == .pending else { return }
    entries[key] = nil
    // The last one, in most cases.
    if let place = order.lastIndex(of: key) { order.remove(at: place) }
  }

  /// What becomes of a charge at a request for a refund; ``take(_:)`` has it happen.
  ///
  /// - Returns: The charge: refunded if it was made, as it was if it was declined, voided otherwise.
  func refunding(_ key: String) -> Charge {
    guard var charge = charge(key) else {
      return Charge(key: key, status: .voided, amount: 0, currency: "", reference: "")
    }
    switch charge.status {
    case .pending: charge.status = .voided
    case .charged: charge.status = .refunded
    case .declined, .refunded, .voided: break
    }
    return charge
  }

  /// Something has become of a charge.
  mutating func take(_ charge: Charge) {
    if entries[charge.key] == nil {
      insert(Entry(charge: charge))
    } else {
      entries[charge.key]?.charge = charge
    }
  }

  private mutating func insert(_ entry: Entry) {
    order.append(entry.charge.key)
    entries[entry.charge.key] = entry
  }
}
