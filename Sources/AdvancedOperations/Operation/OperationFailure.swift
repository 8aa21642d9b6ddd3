/// Everything that went wrong with an operation, in order, each with where it came from.
///
/// Its description is an indented tree:
///
/// ```
/// child “open”
///   condition “file exists”: There is no file at /data/feed.json.
/// child “download”
///   attempt 1: The connection was lost.
///   attempt 2: The connection was lost.
/// 9 not run because of it
/// ```
///
/// Its elements are for code:
///
/// ```swift
/// for case .condition(let name) in failure.elements.map(\.origin) {
///   print("“\(name)” does not hold")
/// }
/// ```
public struct OperationFailure: Error, CustomStringConvertible {
  /// One error and its origin.
  public struct Element: Sendable {
    /// Where the error came from.
    public var origin: Origin
    /// The error itself, as it was thrown or given.
    public var error: any Error
    /// Whether it is the failure of a dependency, and not this operation's own.
    public var isInherited: Bool

    /// Creates an element.
    public init(origin: Origin, error: any Error, isInherited: Bool = false) {
      self.origin = origin
      self.error = error
      self.isInherited = isInherited
    }
  }

  /// Where an error came from.
  public indirect enum Origin: Sendable, Hashable {
    /// A condition or claim, with its name.
    case condition(String)
    /// The operation's own work.
    case body
    /// A reason that was given with a cancel.
    case cancel
    /// A dependency, with its name.
    case dependency(String)
    /// A child of a group, with its name, and where it came from there.
    case child(String, Origin)
    /// One attempt of several, counted from 1.
    case attempt(Int, Origin)
    /// A time limit.
    case timeout
    /// The operation was skipped, so it has no value.
    case skipped(reason: String)
  }

  /// The errors in the order in which they came.
  public var elements: [Element]
  /// How many operations of a group didn't run because of errors that are among the elements.
  public var notRunCount: Int

  /// Creates a failure.
  public init(elements: [Element], notRunCount: Int = 0) {
    self.elements = elements
    self.notRunCount = notRunCount
  }

  /// The errors without their origins.
  public var errors: [any Error] { elements.map(\.error) }

  /// Whether nothing here is the operation's own: all of it was inherited from dependencies.
  ///
  /// Such an operation never ran, because something that it needed did not succeed. False when there
  /// are no elements.
  public var isInherited: Bool { !elements.isEmpty && elements.allSatisfy(\.isInherited) }

  /// The elements as an indented tree, without a trailing line break.
  public var description: String { indented(by: 0) }

  /// The description, shifted to the right, to stand below a heading of yours.
  ///
  /// ```swift
  /// print("\(operation) ended:\n\(failure.indented(by: 1))")
  /// ```
  ///
  /// - Parameter depth: How many levels of two spaces.
  /// - Returns: The lines, without a trailing line break.
  public func indented(by depth: Int) -> String {
    FailureTree(self).lines(depth: depth).joined(separator: "\n")
  }
}

/// Errors that may say that a dependency did not succeed: not the operation's own.
protocol InheritedFailure: Error {
  var isInherited: Bool { get }
}

extension InheritedFailure {
  var isInherited: Bool { true }
}

extension OperationFailure.Origin: CustomStringConvertible {
  /// Where the error came from, in words, from the outside in.
  public var description: String {
    switch self {
    case .condition(let name): "condition “\(name)”"
    case .body: "body"
    case .cancel: "cancel"
    case .dependency(let name): "dependency “\(name)”"
    case .child(let name, let inner): "child “\(name)”, \(inner)"
    case .attempt(let number, let inner): "attempt \(number), \(inner)"
    case .timeout: "timeout"
    case .skipped(let reason): "skipped: \(reason)"
    }
  }
}

/// Elements with the same beginning of their origins under one heading, in order of appearance.
private struct FailureTree {
  private enum Node {
    case leaf(String)
    case branch(String, FailureTree)
  }

  private var nodes: [Node] = []
  private var branches: [String: Int] = [:]

  private init() {}

  init(_ failure: OperationFailure) {
    for element in failure.elements { insert(element.origin, element) }
    if failure.elements.isEmpty { nodes.append(.leaf("cancelled without a reason")) }
    if failure.notRunCount > 0 {
      nodes.append(.leaf("\(failure.notRunCount) not run because of it"))
    }
  }

  private mutating func insert(
    _ origin: OperationFailure.Origin,
    _ element: OperationFailure.Element
  ) {
    switch origin {
    case .child(let name, let inner): insert(inner, element, under: "child “\(name)”")
    case .attempt(let number, .body): add("attempt \(number)", element)
    case .attempt(let number, let inner): insert(inner, element, under: "attempt \(number)")
    case .condition(let name): add("condition “\(name)”", element)
    case .dependency(let name): add("dependency “\(name)”", element)
    case .cancel: add("cancelled", element)
    case .timeout: add("timed out", element)
    case .body: add(nil, element)
    case .skipped(let reason): nodes.append(.leaf("skipped: \(reason)"))
    }
  }

  private mutating func insert(
    _ origin: OperationFailure.Origin,
    _ element: OperationFailure.Element,
    under heading: String
  ) {
    let index: Int
    if let known = branches[heading] {
      index = known
    } else {
      index = nodes.count
      nodes.append(.branch(heading, FailureTree()))
      branches[heading] = index
    }
    guard case .branch(_, var tree) = nodes[index] else { return }
    nodes[index] = .leaf("")
    tree.insert(origin, element)
    nodes[index] = .branch(heading, tree)
  }

  private mutating func add(_ heading: String?, _ element: OperationFailure.Element) {
    add(heading, (element.error as? OperationConditionError)?.underlying ?? element.error)
  }

  private mutating func add(_ heading: String?, _ error: any Error) {
    if let tree = Self.tree(of: error) {
      if let heading {
        nodes.append(.branch(heading, tree))
      } else {
        nodes += tree.nodes
      }
      return
    }
    let text = "\(error)"
    nodes.append(.leaf(heading.map { "\($0): \(text)" } ?? text))
  }

  /// What is inside of an error that carries others.
  private static func tree(of error: any Error) -> FailureTree? {
    if let failure = error as? OperationFailure { return FailureTree(failure) }
    var tree = FailureTree()
    let parts: [OperationConditionError]
    switch error {
    case let none as AnyOf.NoneHolds: parts = none.failures
    case let part as OperationConditionError: parts = [part]
    default: return nil
    }
    for part in parts { tree.add("condition “\(part.condition)”", part.underlying) }
    return parts.isEmpty ? nil : tree
  }

  func lines(depth: Int) -> [String] {
    let indent = String(repeating: "  ", count: depth)
    return nodes.flatMap { node in
      switch node {
      case .leaf(let text):
        text.split(separator: "\n", omittingEmptySubsequences: false).enumerated().map {
          $0.offset == 0 ? indent + $0.element : indent + "  " + $0.element
        }
      case .branch(let heading, let tree): [indent + heading] + tree.lines(depth: depth + 1)
      }
    }
  }
}
