/// A label with the name and the tag of an operation, for values that may outlive it, such as
/// errors.
///
/// The name is for people, and the tag is for code. Set both, for example with an enumeration
/// `Step` of your program:
///
/// ```swift
/// send.name = "send order 7"
/// send.tag = Step.send(order: 7)
/// ```
///
/// Code that receives a failure of the module AdvancedOperations then finds out which step failed:
///
/// ```swift
/// for cause in failure.rootCauses {
///   if case .send(let order)? = cause.origin.operation?.tag as? Step { unsent.append(order) }
/// }
/// ```
public struct OperationLabel: Sendable {
  /// The name of the operation, or its type if it had no name.
  public let name: String
  /// The tag of the operation; nil if it had no tag.
  public let tag: (any Hashable & Sendable)?

  /// Creates a label, with which you can compare other labels.
  public init(_ name: String, tag: (any Hashable & Sendable)? = nil) {
    self.name = name
    self.tag = tag
  }
}

extension OperationLabel: Hashable {
  /// Returns whether both labels have the same name and the same tag.
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
  /// The name of the operation.
  public var description: String { name }
}

extension Operation {
  /// The label that messages use for the operation, with its tag.
  package final var nameAndTag: OperationLabel { OperationLabel(label, tag: tag) }
}
