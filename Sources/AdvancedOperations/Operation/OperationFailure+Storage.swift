import CoreOperations

extension OperationFailure {
  /// The elements of a failure, shared by its copies.
  ///
  /// An inherited failure is an element's error, so failures are in each other as deep as operations
  /// depend on each other. They share what they have in common, and go without recursion.
  final class Storage: @unchecked Sendable {
    // Sendable: changed only by its one owner, or while it dies.

    /// Where a chain of dependencies leads to of which each failed only because of the one before.
    struct Way: Sendable {
      /// How many dependencies there are on it.
      let count: Int
      /// The name of the last one.
      let last: String
      /// What went wrong with that.
      let end: OperationFailure
    }

    private struct Content: Sendable {
      var elements: [Element] = []
      var way: Way?
    }

    private var content: Content

    /// Nil without elements.
    init?(_ elements: [Element]) {
      if elements.isEmpty { return nil }
      content = Content(elements: elements, way: Way(elements))
    }

    deinit { FlatRelease.release(exchange(&content, with: Content())) }

    var elements: [Element] { content.elements }
    /// Nil when there are several errors, or one that isn't that of a dependency.
    var way: Way? { content.way }

    func takeElements() -> [Element] { exchange(&content, with: Content()).elements }
  }

  /// Where the failure comes from, if all of it is that of one dependency.
  var way: Storage.Way? { notRunCount == 0 ? storage?.way : nil }

  /// What everything comes down to: the elements of this failure and of those that it inherited, without
  /// the inherited failures themselves, each once.
  ///
  /// ```swift
  /// // However far away in the workflow it happened:
  /// for cause in failure.rootCauses { print("\(cause.error)") }
  /// ```
  ///
  /// - Complexity: O(n), n the number of elements of all failures that are inherited; O(1) where each
  ///   operation of a chain failed only because of the one before.
  public var rootCauses: [Element] {
    var causes: [Element] = []
    var seen: Set<ObjectIdentifier> = []
    var due = [(elements: elements, next: 0)]
    while let (elements, next) = due.popLast() {
      guard next < elements.count else { continue }
      due.append((elements, next + 1))
      let element = elements[next]
      if let inherited = element.inheritedFailure.map({ $0.way?.end ?? $0 }),
        let storage = inherited.storage
      {
        if seen.insert(ObjectIdentifier(storage)).inserted { due.append((storage.elements, 0)) }
      } else {
        causes.append(element)
      }
    }
    return causes
  }
}

extension OperationFailure.Element {
  /// The failure of the dependency that this is about.
  fileprivate var inheritedFailure: OperationFailure? {
    isInherited ? error as? OperationFailure : nil
  }
}

extension OperationFailure.Storage.Way {
  fileprivate init?(_ elements: [OperationFailure.Element]) {
    guard elements.count == 1, case .dependency(let name) = elements[0].origin,
      let failure = elements[0].inheritedFailure
    else { return nil }
    if let way = failure.way {
      self.init(count: way.count + 1, last: way.last, end: way.end)
    } else {
      self.init(count: 1, last: name, end: failure)
    }
  }
}
