/// The company that charges cards.
///
/// It is on the other side of a network: an answer can be late, lost, or wrong. Therefore each charge
/// has a key, which is made from the order's ID and never changes. The provider charges once for a key,
/// however often it gets the request.
public protocol PaymentProvider: Sendable {
  /// Charges a card, unless that was done under the key before.
  ///
  /// - Parameters:
  ///   - amount: How much.
  ///   - order: What it is for. The provider keeps it beside the charge, whatever the key: an audit
  ///     finds all charges of an order by it.
  ///   - cardToken: Which card.
  ///   - key: What the charge is called, on both sides.
  /// - Returns: What the provider says about the charge now. `.declined` may be a lie: see
  ///   ``charge(forKey:of:for:)``.
  /// - Throws: ``PaymentProviderError`` when it isn't known what has happened.
  func charge(
    _ amount: Money,
    for order: OrderID,
    cardToken: String,
    key: String
  ) async throws -> ChargeStatus

  /// Looks up what the provider's ledger has under a key.
  ///
  /// - Parameters:
  ///   - key: What the charge is called, on both sides.
  ///   - amount: How much it has to be for.
  ///   - order: What it has to be for.
  /// - Returns: What it has; nil when the request has not arrived, or not yet.
  /// - Throws: ``PaymentProviderError`` when that can't be learnt, or the charge is another one.
  func charge(
    forKey key: String,
    of amount: Money,
    for order: OrderID
  ) async throws -> ChargeStatus?

  /// Gives the money back, and sees to it that nothing is charged under the key any more.
  ///
  /// After it has returned, a charge under the key that is still on its way is declined: this is why
  /// it is also called for a charge of which nothing is known. It can be repeated.
  ///
  /// - Throws: ``PaymentProviderError``. With ``PaymentProviderError/refused(_:)`` again and again, the
  ///   order is stuck.
  func refund(key: String) async throws
}
