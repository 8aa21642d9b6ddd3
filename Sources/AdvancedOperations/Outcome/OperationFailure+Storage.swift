import CoreOperations

extension OperationFailure {
  /// The elements of a failure, shared by its copies.
  ///
  /// An inherited failure is an element's error, so failures are nested as deeply as the chains of
  /// dependencies are. Failures share their common storage, and are released without recursion.
  final class Storage: @unchecked Sendable {
    // Sendable: only the single owner changes the storage, and `deinit`.

    /// The end of a chain of dependencies, each of which failed only because of the previous one.
    struct Way: Sendable {
      /// The number of dependencies of the chain.
      let count: Int
      /// The last dependency of the chain.
      let last: OperationLabel
      /// The failure of the last dependency.
      let end: OperationFailure
    }

    private struct Content: Sendable {
      var elements: [Element] = []
      var way: Way?
      /// The storage from which the elements come.
      var original: Storage?
    }

    private var content: Content
    /// The awaited operation that has the failure; nil if the operation isn't known.
    let owner: OperationLabel?

    /// Returns a storage; nil without elements.
    ///
    /// The function isn't a failable initializer, because that would allocate and deallocate an object before
    /// it fails.
    static func keeping(_ elements: [Element], owner: OperationLabel? = nil) -> Storage? {
      elements.isEmpty && owner == nil ? nil : Storage(elements, owner)
    }

    private init(_ elements: [Element], _ owner: OperationLabel?) {
      content = Content(elements: elements, way: Way(elements))
      self.owner = owner
    }

    /// Creates a storage of the same failure for an operation that was awaited.
    init(_ storage: Storage?, owner: OperationLabel) {
      content =
        storage.map {
          Content(elements: $0.elements, way: $0.way, original: $0.content.original ?? $0)
        } ?? Content()
      self.owner = owner
    }

    /// The identity of the failure, which is equal for all storages of the same failure with different
    /// owners.
    var identity: ObjectIdentifier { ObjectIdentifier(content.original ?? self) }

    deinit { FlatRelease.release(exchange(&content, with: Content())) }

    var elements: [Element] { content.elements }
    /// The end of a chain of dependencies; nil if there are several errors, or an error that isn't that of a
    /// dependency.
    var way: Way? { content.way }

    func takeElements() -> [Element] { exchange(&content, with: Content()).elements }
  }

  /// Adds the failure to the failures that were seen, and returns true if it is new.
  func isNew(among seen: inout Set<ObjectIdentifier>) -> Bool {
    storage.map { seen.insert($0.identity).inserted } ?? true
  }

  /// Returns true if both are the same failure, and not two failures with equal errors.
  func isSame(as other: OperationFailure) -> Bool { storage?.identity == other.storage?.identity }

  /// Returns the awaited operation that has the failure, as a step after another step.
  ///
  /// - Parameter heading: The last step on the way to the failure; nil if there is none.
  /// - Returns: The step; nil if the last step is the operation already, or if the operation isn't known.
  func ownerStep(after heading: FailureHeading?) -> Origin.Step? {
    guard let owner = storage?.owner, heading != .step(.dependency(owner)) else { return nil }
    return .operation(owner)
  }

  /// The end of the chain of dependencies that leads to the failure, if the failure only comes from one
  /// dependency.
  var way: Storage.Way? { notRunCount == 0 ? storage?.way : nil }
}

extension [OperationFailure.Element] {
  /// The only dependency from which the elements come, and its failure; nil if there are several errors, or
  /// one of another kind.
  ///
  /// A condition that failed because of the dependency isn't counted as an error of another kind.
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
  /// The dependency that has the failure, and the failure.
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

/// Releases nested objects at any depth without recursion.
///
/// The release of nested failures, conditions or groups would otherwise nest as many deinitializers. The
/// first deinitializer of a thread works through a list. The deinitializers that run because of it add their
/// contents to the list.
enum FlatRelease {
  private final class List {
    var values: [any Sendable] = []
  }

  /// The list of contents that a thread is releasing.
  private static let current = ThreadLocal<List>()

  /// Releases the contents of an object that is being deallocated.
  ///
  /// - Parameter value: The contents, which were moved out of the object.
  /// - Complexity: O(n), where n is the number of deallocated objects, with constant stack depth.
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
