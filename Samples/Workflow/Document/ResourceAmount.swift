/// How much there is of a resource, or how much of it a step uses.
public struct ResourceAmount: Sendable, Equatable, Codable {
  /// What an amount counts.
  public enum Unit: String, Sendable, Codable {
    /// Things: processors, licences.
    case count
    /// Bytes: memory, disk.
    case bytes
  }

  /// How many.
  public var value: Int
  /// Of what.
  public var unit: Unit

  /// Creates an amount.
  public init(_ value: Int, _ unit: Unit = .count) {
    self.value = value
    self.unit = unit
  }
}
