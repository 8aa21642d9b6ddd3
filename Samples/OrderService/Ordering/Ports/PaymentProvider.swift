/// The company that charges cards.
///
/// It is on the other side of a network: an answer can be late, lost, or wrong. Therefore each charge
/// has a key, which is made from the order's ID and never changes. The provider charges once for a key,
/// however often it gets the request.
///
/// Its answers are returned as they come. The workflow believes none that doesn't confirm the charge
/// (``Charge/status(confirmedBy:)``), and repeats the request instead.
public protocol PaymentProvider: Sendable {
  /// Charges a card, unless that was done under the key before.
  ///
  /// - Parameters:
  ///   - charge: The charge. The provider keeps the order as its reference, whatever the key: an audit
  ///     finds all charges of an order by it.
  ///   - cardToken: The customer's card.
  /// - Returns: The answer. If it isn't “charged”, it may be a lie: see ``lookUp(_:)``.
  /// - Throws: ``PaymentProviderError`` when it isn't known what has happened.
  func charge(_ charge: Charge, cardToken: String) async throws -> ChargeAnswer

  /// Looks up a charge in the provider's ledger.
  ///
  /// - Parameter charge: The charge.
  /// - Returns: The entry of the ledger; nil when the request has not arrived, or not yet.
  /// - Throws: ``PaymentProviderError`` when that can't be learnt.
  func lookUp(_ charge: Charge) async throws -> ChargeAnswer?

  /// Gives the money back, and sees to it that nothing is charged under the key any more.
  ///
  /// After it is confirmed, a charge under the key that is still on its way is declined: this is why
  /// it is also called for a charge of which nothing is known. It can be repeated.
  ///
  /// - Parameter charge: The charge.
  /// - Returns: The answer, which ``Charge/checkRefund(_:wasCharged:)`` compares.
  /// - Throws: ``PaymentProviderError``. The refund is repeated then, whatever the error is.
  func refund(_ charge: Charge) async throws -> ChargeAnswer
}
