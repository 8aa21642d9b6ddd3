/// The name and the tag of an operation, in values that may outlive it, such as errors.
///
/// The name is for people, the tag for code. With a `Step` that is an enumeration of the program,
///
/// ```swift
/// send.name = "send order 7"
/// send.tag = Step.send(order: 7)
/// ```
///
/// code that gets a failure of the module AdvancedOperations finds out which step it was:
///
/// ```swift
/// for cause in failure.rootCauses {
///   if case .send(let order)? = cause.origin.operation?.tag as? Step { unsent.append(order) }
/// }
/// ```
public struct OperationLabel: Sendable {
  /// The name of the operation, or its type if it had none.
  public let name: String
  /// The tag of the operation; nil if it had none.
  public let tag: (any Hashable & Sendable)?

  /// Creates a label, to compare others with.
  public init(_ name: String, tag: (any Hashable & Sendable)? = nil) {
    self.name = name
    self.tag = tag
  }
}

extension OperationLabel: Hashable {
  /// Whether both have the same name and the same tag.
  public static func == (a: Self, b: Self) -> Bool {
    a.name == b.name && a.tag.map { AnyHashable($0) } == b.tag.map { AnyHashable($0) }
  }

  /// Hashes the name and the tag.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(name)
    hasher.combine(tag.map { AnyHashable($0) })
  }
}

extension OperationLabel: ExpressibleByStringInterpolation {
  /// Creates a label without a tag.
  public init(stringLiteral name: String) { self.init(name) }
}

extension OperationLabel: CustomStringConvertible {
  /// The name.
  public var description: String { name }
}

extension Operation {
  /// What texts call the operation, and its tag.
  package final var nameAndTag: OperationLabel { OperationLabel(label, tag: tag) }
}
