public import CoreOperations

extension OperationFailure {
  /// Where an error came from, and what happened there.
  ///
  /// The ``path`` leads from the operation that has the failure to the place of the error. The
  /// ``cause`` says what happened at the end of the path. All names are in the path.
  ///
  /// ```swift
  /// let origin = OperationFailure.Origin.child("payment", .attempt(2, .timeout))
  /// print(origin)  // child “payment”, attempt 2, timeout
  /// print(origin.path)  // [child “payment”, attempt 2]
  /// print(origin.cause)  // timeout
  /// print(origin.operation ?? "order")  // payment
  /// ```
  ///
  /// Such expressions are for tests, which compare origins. Later versions may have other steps and
  /// causes, so a `switch` over them needs an `@unknown default`.
  public struct Origin: Sendable {
    /// A step on the way to an error.
    @nonexhaustive
    public enum Step: Hashable, Sendable {
      /// The error came from this dependency.
      case dependency(OperationLabel)
      /// The error came from this child.
      case child(OperationLabel)
      /// The error came from one attempt of several, counted from 1.
      case attempt(Int)
      /// The error came from a condition or a claim with this name, or from a part of it.
      case condition(String)
      /// The error came from this operation, which isn't a dependency.
      ///
      /// The body or a condition awaited it, or the operation was cancelled because this child of
      /// the same group had failed.
      case operation(OperationLabel)
    }

    /// What happened at the end of a path.
    @nonexhaustive
    public enum Cause: Hashable, Sendable {
      /// The work of the operation failed.
      case body
      /// The condition that is the last step of the path wasn't satisfied.
      case condition
      /// The dependency that is the last step of the path didn't succeed.
      ///
      /// The ``OperationFailure/elements`` end there. ``OperationFailure/rootCauses`` continue into
      /// the dependency.
      case dependency
      /// A cancel with a reason ended the operation.
      case cancel
      /// A time limit ended the operation, or the attempt that is the last step of the path.
      case timeout
      /// The operation was skipped for this reason, so it has no value.
      case skipped(reason: String)
    }

    /// One step, and the steps inside of it.
    ///
    /// Groups can be in each other on any number of levels: the steps of a child are shared with
    /// its group, and they are compared, described and released without recursion.
    private final class Node: @unchecked Sendable {
      // Sendable: changed only by `deinit`.
      let step: Step
      private(set) var inner: Node?

      init(_ step: Step, _ inner: Node?) { (self.step, self.inner) = (step, inner) }

      deinit { if inner != nil { FlatRelease.release(exchange(&inner, with: nil)) } }
    }

    private var outermost: Node?
    /// What happened at the end of the path.
    public var cause: Cause

    /// The steps from the operation to the place of the error, from the outside in.
    ///
    /// The path is empty if the error happened in the operation itself.
    ///
    /// - Complexity: O(n), n the number of steps.
    public var path: [Step] {
      get {
        var (path, node): ([Step], Node?) = ([], outermost)
        while let next = node {
          path.append(next.step)
          node = next.inner
        }
        return path
      }
      set { outermost = newValue.reversed().reduce(nil) { Node($1, $0) } }
    }

    private init(cause: Cause) { self.cause = cause }

    /// The same in one more step.
    ///
    /// - Complexity: O(1); the steps are shared.
    func within(_ step: Step) -> Origin {
      var origin = self
      origin.outermost = Node(step, outermost)
      return origin
    }

    /// The work of the operation itself.
    public static var body: Origin { Origin(cause: .body) }
    /// A cancel with a reason.
    public static var cancel: Origin { Origin(cause: .cancel) }
    /// A time limit.
    public static var timeout: Origin { Origin(cause: .timeout) }
    /// A skip, so that the operation has no value.
    public static func skipped(reason: String) -> Origin { Origin(cause: .skipped(reason: reason)) }
    /// A condition or claim that wasn't satisfied.
    public static func condition(_ name: String) -> Origin {
      Origin(cause: .condition).within(.condition(name))
    }
    /// A dependency that didn't succeed.
    public static func dependency(_ label: OperationLabel) -> Origin {
      Origin(cause: .dependency).within(.dependency(label))
    }
    /// An origin inside of a child of a group.
    public static func child(_ label: OperationLabel, _ inner: Origin) -> Origin {
      inner.within(.child(label))
    }
    /// An origin inside of one attempt of several, counted from 1.
    public static func attempt(_ number: Int, _ inner: Origin) -> Origin {
      inner.within(.attempt(number))
    }
    /// An origin inside of a dependency.
    public static func dependency(_ label: OperationLabel, _ inner: Origin) -> Origin {
      inner.within(.dependency(label))
    }
    /// An origin inside of a condition: a part of it, or an operation that it looked at.
    public static func condition(_ name: String, _ inner: Origin) -> Origin {
      inner.within(.condition(name))
    }
    /// An origin inside of an operation that isn't a dependency: see ``Step/operation(_:)``.
    public static func operation(_ label: OperationLabel, _ inner: Origin) -> Origin {
      inner.within(.operation(label))
    }

    /// The name and the tag of the operation in which the error happened.
    ///
    /// That is the last child, dependency or awaited operation of the path; nil for the operation
    /// itself.
    ///
    /// ```swift
    /// for cause in failure.rootCauses {
    ///   print("\(cause.origin.operation ?? "map") failed: \(cause.error)")
    /// }
    /// ```
    ///
    /// - Complexity: O(n), n the number of steps of the path.
    public var operation: OperationLabel? {
      for step in path.reversed() {
        switch step {
        case .child(let label), .dependency(let label), .operation(let label): return label
        case .attempt, .condition: continue
        }
      }
      return nil
    }

    /// The outermost step; nil without any.
    var first: Step? { outermost?.step }

    /// The only step; nil if there isn't any, or if there are several.
    var only: Step? { outermost?.inner == nil ? first : nil }
  }
}

extension OperationFailure.Origin: Hashable {
  /// Whether both have the same steps and the same cause.
  ///
  /// - Complexity: O(n), n the number of steps of the path.
  public static func == (a: Self, b: Self) -> Bool {
    guard a.cause == b.cause else { return false }
    var (a, b) = (a.outermost, b.outermost)
    while let one = a, let other = b, one !== other {
      guard one.step == other.step else { return false }
      (a, b) = (one.inner, other.inner)
    }
    return a === b
  }

  /// Hashes all steps and the cause.
  ///
  /// - Complexity: O(n), n the number of steps of the path.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(path)
    hasher.combine(cause)
  }
}

extension OperationFailure.Origin: CustomStringConvertible {
  /// Where the error came from, in words, from the outside in; of a long path both ends.
  public var description: String {
    let path = path
    let texts = path.map { FailureHeading.step($0) }.texts
    return (cause.isSaid(by: path.last) ? texts : texts + ["\(cause)"]).joined(separator: ", ")
  }
}

extension OperationFailure.Origin.Step: CustomStringConvertible {
  /// The kind of the step, and its name or number.
  public var description: String {
    switch self {
    case .dependency(let name): "dependency “\(name)”"
    case .child(let name): "child “\(name)”"
    case .attempt(let number): "attempt \(number)"
    case .condition(let name): "condition “\(name)”"
    case .operation(let name): "operation “\(name)”"
    }
  }
}

extension OperationFailure.Origin.Cause: CustomStringConvertible {
  /// Whether the last step of a path says the same in words.
  func isSaid(by step: OperationFailure.Origin.Step?) -> Bool {
    switch (self, step) {
    case (.condition, .condition?), (.dependency, .dependency?): true
    default: false
    }
  }

  /// The cause in one word; of a skip with its reason.
  public var description: String {
    switch self {
    case .body: "body"
    case .condition: "condition"
    case .dependency: "dependency"
    case .cancel: "cancel"
    case .timeout: "timeout"
    case .skipped(let reason): "skipped: \(reason)"
    }
  }
}
