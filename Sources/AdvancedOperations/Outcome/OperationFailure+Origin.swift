public import CoreOperations

extension OperationFailure {
  /// The origin of an error, which consists of a path and a cause.
  ///
  /// The ``path`` leads from the operation that has the failure to the place of the error. The ``cause`` is
  /// the event at the end of the path. The path has the names of operations and conditions. A cause has no
  /// names.
  ///
  /// ```swift
  /// let origin = OperationFailure.Origin.child("payment", .attempt(2, .timeout))
  /// print(origin)  // child “payment”, attempt 2, timeout
  /// print(origin.path)  // [child “payment”, attempt 2]
  /// print(origin.cause)  // timeout
  /// print(origin.operation ?? "order")  // payment
  /// ```
  ///
  /// Expressions such as `.child("payment", .attempt(2, .timeout))` are for tests, which compare origins.
  /// Later versions may have other steps and causes, so a `switch` over them needs an `@unknown default`.
  public struct Origin: Sendable {
    /// A step on the way to an error.
    @nonexhaustive
    public enum Step: Hashable, Sendable {
      /// The error came from this dependency.
      case dependency(OperationLabel)
      /// The error came from this child.
      case child(OperationLabel)
      /// The error came from an attempt with this number, counted from 1.
      case attempt(Int)
      /// The error came from a condition or a claim with this name, or from a part of it.
      case condition(String)
      /// The error came from this operation, which isn't a dependency.
      ///
      /// The body or a condition awaited it, or the operation was cancelled because this child of
      /// the same group had failed.
      case operation(OperationLabel)
    }

    /// The event at the end of a path.
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

    /// A step, and the steps inside it.
    ///
    /// Groups can be nested on any number of levels. A child shares its steps with its group. The steps are
    /// compared, described and released without recursion.
    private final class Node: @unchecked Sendable {
      // Sendable: changed only by `deinit`.
      let step: Step
      private(set) var inner: Node?

      init(_ step: Step, _ inner: Node?) { (self.step, self.inner) = (step, inner) }

      deinit { if inner != nil { FlatRelease.release(exchange(&inner, with: nil)) } }
    }

    private var outermost: Node?
    /// The event at the end of the path.
    public var cause: Cause

    /// The steps from the operation to the place of the error, from the outside in.
    ///
    /// The path is empty if the error happened in the operation itself.
    ///
    /// - Complexity: O(n), where n is the number of steps.
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

    /// Returns the origin inside one more step.
    ///
    /// - Complexity: O(1), because the steps are shared.
    func within(_ step: Step) -> Origin {
      var origin = self
      origin.outermost = Node(step, outermost)
      return origin
    }

    /// The origin of an error in the work of the operation itself.
    public static var body: Origin { Origin(cause: .body) }
    /// The origin of the reason for a cancel.
    public static var cancel: Origin { Origin(cause: .cancel) }
    /// The origin of a timeout.
    public static var timeout: Origin { Origin(cause: .timeout) }
    /// Returns the origin of a skip, after which the operation has no value.
    public static func skipped(reason: String) -> Origin { Origin(cause: .skipped(reason: reason)) }
    /// Returns the origin of the error of a condition that isn't satisfied, or of a claim that isn't
    /// acquired.
    public static func condition(_ name: String) -> Origin {
      Origin(cause: .condition).within(.condition(name))
    }
    /// Returns the origin of the failure of a dependency.
    public static func dependency(_ label: OperationLabel) -> Origin {
      Origin(cause: .dependency).within(.dependency(label))
    }
    /// Returns an origin inside a child of a group.
    public static func child(_ label: OperationLabel, _ inner: Origin) -> Origin {
      inner.within(.child(label))
    }
    /// Returns an origin inside an attempt, counted from 1.
    public static func attempt(_ number: Int, _ inner: Origin) -> Origin {
      inner.within(.attempt(number))
    }
    /// Returns an origin inside a dependency.
    public static func dependency(_ label: OperationLabel, _ inner: Origin) -> Origin {
      inner.within(.dependency(label))
    }
    /// Returns the origin of an error that occurred inside a condition.
    ///
    /// Use this origin for the error of a part of a compound condition, or of an operation that the condition
    /// awaited.
    ///
    /// - Parameters:
    ///   - name: The name of the condition.
    ///   - inner: The origin of the error, as seen from the condition.
    /// - Returns: The origin of the same error, as seen from the operation that has the condition. Its path
    ///   begins with the condition, and continues with the path of `inner`.
    public static func condition(_ name: String, _ inner: Origin) -> Origin {
      inner.within(.condition(name))
    }
    /// Returns an origin inside an operation that isn't a dependency; see ``Step/operation(_:)``.
    public static func operation(_ label: OperationLabel, _ inner: Origin) -> Origin {
      inner.within(.operation(label))
    }

    /// The name and the tag of the operation in which the error happened.
    ///
    /// The value is the last child, dependency or awaited operation of the path. It is nil if the path contains
    /// none of these, because the error then happened in the operation that has the failure.
    ///
    /// ```swift
    /// for cause in failure.rootCauses {
    ///   print("\(cause.origin.operation ?? "map") failed: \(cause.error)")
    /// }
    /// ```
    ///
    /// - Complexity: O(n), where n is the number of steps of the path.
    public var operation: OperationLabel? {
      for step in path.reversed() {
        switch step {
        case .child(let label), .dependency(let label), .operation(let label): return label
        case .attempt, .condition: continue
        }
      }
      return nil
    }

    /// The outermost step; nil if the path is empty.
    var first: Step? { outermost?.step }

    /// The only step; nil if there is none, or if there are several.
    var only: Step? { outermost?.inner == nil ? first : nil }
  }
}

extension OperationFailure.Origin: Hashable {
  /// Returns true if both origins have the same steps and the same cause.
  ///
  /// - Complexity: O(n), where n is the number of steps of the path.
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
  /// - Complexity: O(n), where n is the number of steps of the path.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(path)
    hasher.combine(cause)
  }
}

extension OperationFailure.Origin: CustomStringConvertible {
  /// The steps in words, from the outside in, and the cause; of a long path, only both ends.
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
  /// Returns true if the last step of a path already names the cause.
  func isSaid(by step: OperationFailure.Origin.Step?) -> Bool {
    switch (self, step) {
    case (.condition, .condition?), (.dependency, .dependency?): true
    default: false
    }
  }

  /// The cause in one word; for a skip, also its reason.
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
