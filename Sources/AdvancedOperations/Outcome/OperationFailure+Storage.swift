import CoreOperations

extension OperationFailure {
  /// The elements of a failure, shared by its copies.
  ///
  /// An inherited failure is an element's error, so failures are in each other as deep as
  /// operations depend on each other. They share what they have in common, and go without
  /// recursion.
  final class Storage: @unchecked Sendable {
    // Sendable: changed only by its one owner, or while it dies.

    /// Where a chain of dependencies leads to of which each failed only because of the one before.
    struct Way: Sendable {
      /// How many dependencies there are on it.
      let count: Int
      /// The last one.
      let last: OperationLabel
      /// What went wrong with that.
      let end: OperationFailure
    }

    private struct Content: Sendable {
      var elements: [Element] = []
      var way: Way?
      /// What this has its elements from.
      var original: Storage?
    }

    private var content: Content
    /// The operation that was awaited and whose failure it is; nil if that isn't known.
    let owner: OperationLabel?

    /// Nil without elements; an initialiser that fails would allocate and deallocate before.
    static func keeping(_ elements: [Element], owner: OperationLabel? = nil) -> Storage? {
      elements.isEmpty && owner == nil ? nil : Storage(elements, owner)
    }

    private init(_ elements: [Element], _ owner: OperationLabel?) {
      content = Content(elements: elements, way: Way(elements))
      self.owner = owner
    }

    /// The same failure, that of this operation.
    init(_ storage: Storage?, owner: OperationLabel) {
      content =
        storage.map {
          Content(elements: $0.elements, way: $0.way, original: $0.content.original ?? $0)
        } ?? Content()
      self.owner = owner
    }

    /// The same for all that is the same failure, however its operation is called.
    var identity: ObjectIdentifier { ObjectIdentifier(content.original ?? self) }

    deinit { FlatRelease.release(exchange(&content, with: Content())) }

    var elements: [Element] { content.elements }
    /// Nil when there are several errors, or one that isn't that of a dependency.
    var way: Way? { content.way }

    func takeElements() -> [Element] { exchange(&content, with: Content()).elements }
  }

  /// Whether this is not among the failures that were looked at; it is from now on.
  func isNew(among seen: inout Set<ObjectIdentifier>) -> Bool {
    storage.map { seen.insert($0.identity).inserted } ?? true
  }

  /// Whether both are one failure, and not two with equal errors.
  func isSame(as other: OperationFailure) -> Bool { storage?.identity == other.storage?.identity }

  /// The awaited operation whose failure this is, as a step behind another one.
  ///
  /// - Parameter heading: The last step on the way to here; nil without any.
  /// - Returns: Nil if that is the operation already, or if it isn't known.
  func ownerStep(after heading: FailureHeading?) -> Origin.Step? {
    guard let owner = storage?.owner, heading != .step(.dependency(owner)) else { return nil }
    return .operation(owner)
  }

  /// Where the failure comes from, if all of it is that of one dependency.
  var way: Storage.Way? { notRunCount == 0 ? storage?.way : nil }
}

extension [OperationFailure.Element] {
  /// The dependency that all of this is the failure of, and that failure; nil if there are several
  /// errors, or one of another kind.
  ///
  /// The condition that refused because of the dependency doesn't count.
  var onlyDependency: (label: OperationLabel, failure: OperationFailure)? {
    guard let element = only, element.isInherited else { return nil }
    if let dependency = element.dependency { return dependency }
    guard element.origin.cause == .condition, case .condition? = element.origin.only,
      let error = element.error as? OperationConditionError
    else { return nil }
    let inner = error.underlying.innerFailure?.elements.only
    return inner?.isInherited == true ? inner?.dependency : nil
  }

  private var only: Element? { count == 1 ? self[0] : nil }
}

extension OperationFailure.Element {
  /// The dependency that this is the failure of, and that failure.
  fileprivate var dependency: (label: OperationLabel, failure: OperationFailure)? {
    guard origin.cause == .dependency, case .dependency(let label)? = origin.only else {
      return nil
    }
    return (error as? OperationFailure).map { (label, $0) }
  }
}

extension OperationFailure.Storage.Way {
  fileprivate init?(_ elements: [OperationFailure.Element]) {
    guard let (label, failure) = elements.onlyDependency else { return nil }
    if let way = failure.way {
      self.init(count: way.count + 1, last: way.last, end: way.end)
    } else {
      self.init(count: 1, last: label, end: failure)
    }
  }
}

/// Releases what holds others of its kind, as deep as a program likes, without recursion.
///
/// The release of a failure in a failure, of a condition in a condition or of a group in a group
/// would otherwise nest as many deinitialisers. The first one of a thread works through a list;
/// those that run because of it add what they held.
enum FlatRelease {
  private final class List {
    var values: [any Sendable] = []
  }

  /// Of what a thread is releasing.
  private static let current = ThreadLocal<List>()

  /// Lets go of what a dying object held.
  ///
  /// - Parameter value: Moved out of the object, which must not hold it any more.
  /// - Complexity: O(n), n the number of objects that die, with constant stack depth.
  static func release(_ value: consuming some Sendable) {
    if let list = current.value {
      list.values.append(consume value)
      return
    }
    let list = List()
    list.values.append(consume value)
    current.value = list
    while let next = list.values.popLast() { _ = consume next }
    withExtendedLifetime(list) { current.value = nil }
  }
}
