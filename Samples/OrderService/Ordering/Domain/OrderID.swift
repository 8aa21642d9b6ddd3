/// What an order is called, here and by everyone who gets its link.
public struct OrderID: RawRepresentable, Hashable, Codable, Sendable, CustomStringConvertible {
  /// Thirteen digits and letters, for an ID that was made here.
  public var rawValue: String

  /// Takes an ID as it is written.
  public init(rawValue: String) { self.rawValue = rawValue }

  /// Makes an ID from 64 random bits, in the alphabet of Crockford's base 32.
  ///
  /// - Parameter random: The bits; `OperationEnvironment.random`, so that tests repeat.
  public init(random: UInt64) {
    let digits = Array("0123456789abcdefghjkmnpqrstvwxyz")
    var (rest, text) = (random, "")
    for _ in 0..<13 {
      text.append(digits[Int(rest & 31)])
      rest >>= 5
    }
    rawValue = text
  }

  /// What the payment provider knows the order's charge by: always the same key for an order.
  public var chargeKey: String { "order-\(rawValue)" }

  /// Reads an ID as it is written.
  public init(from decoder: any Decoder) throws {
    rawValue = try decoder.singleValueContainer().decode(String.self)
  }

  /// Writes the ID as a string.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(rawValue)
  }

  /// The ID as it is written.
  public var description: String { rawValue }
}
