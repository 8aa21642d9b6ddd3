/// An amount in the smallest unit of a currency: 1999 of “EUR” is 19.99 euros.
public struct Money: Hashable, Codable, Sendable, CustomStringConvertible {
  /// How many of the smallest unit.
  public var minorUnits: Int

  /// The code of the currency by ISO 4217; all items of a shop have the same.
  public var currency: String

  /// Creates an amount.
  public init(_ minorUnits: Int, _ currency: String = "EUR") {
    self.minorUnits = minorUnits
    self.currency = currency
  }

  /// This much more, so many times.
  ///
  /// - Returns: nil if that is more than can be counted.
  public func adding(_ price: Money, times quantity: Int) -> Money? {
    let (product, isTooLarge) = price.minorUnits.multipliedReportingOverflow(by: quantity)
    let (sum, overflows) = minorUnits.addingReportingOverflow(product)
    return isTooLarge || overflows ? nil : Money(sum, price.currency)
  }

  /// “19.99 EUR”.
  public var description: String {
    let (whole, part) = minorUnits.magnitude.quotientAndRemainder(dividingBy: 100)
    return "\(minorUnits < 0 ? "-" : "")\(whole).\(part < 10 ? "0" : "")\(part) \(currency)"
  }
}
