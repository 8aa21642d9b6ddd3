import CoreOperations

extension OperationFailure {
  /// Where an error came from.
  ///
  /// ```swift
  /// switch element.origin {
  /// case .condition(let name): print("“\(name)” is not satisfied")
  /// case .child(let name, let inner): print("in “\(name)”: \(inner.origin)")
  /// default: print("\(element.origin)")
  /// }
  /// ```
  public enum Origin: Sendable {
    /// A condition or claim, with its name.
    case condition(String)
    /// The operation's own work.
    case body
    /// A reason that was given with a cancel.
    case cancel
    /// A dependency, with its name.
    case dependency(String)
    /// A child of a group, with its name, and where it came from there.
    case child(String, from: Inner)
    /// One attempt of several, counted from 1, and where it came from there.
    case attempt(Int, from: Inner)
    /// A dependency, with its name, and where it came from there; in
    /// ``OperationFailure/rootCauses``.
    case inDependency(String, from: Inner)
    /// A condition, with its name, and the part of it or the dependency that it came from; in
    /// ``OperationFailure/rootCauses``.
    case inCondition(String, from: Inner)
    /// An operation that was awaited, with its name, and where it came from there; in
    /// ``OperationFailure/rootCauses``.
    ///
    /// The body or a condition awaited it; or it is the child of the same group because of which
    /// the operation was cancelled.
    case inOperation(String, from: Inner)
    /// A time limit.
    case timeout
    /// The operation was skipped, so it has no value.
    case skipped(reason: String)

    /// A child of a group, with its name, and where it came from there.
    public static func child(_ name: String, _ origin: Origin) -> Origin {
      .child(name, from: Inner(origin))
    }

    /// One attempt of several, counted from 1, and where it came from there.
    public static func attempt(_ number: Int, _ origin: Origin) -> Origin {
      .attempt(number, from: Inner(origin))
    }

    /// A dependency, with its name, and where it came from there.
    public static func dependency(_ name: String, _ origin: Origin) -> Origin {
      .inDependency(name, from: Inner(origin))
    }

    /// A condition, with its name, and where it came from there.
    public static func condition(_ name: String, _ origin: Origin) -> Origin {
      .inCondition(name, from: Inner(origin))
    }

    /// An operation that the body or a condition awaited, with its name, and where it came from
    /// there.
    public static func operation(_ name: String, _ origin: Origin) -> Origin {
      .inOperation(name, from: Inner(origin))
    }

    /// An origin in a child, an attempt, a dependency, a condition or an awaited operation.
    ///
    /// Groups may be in each other as deep as a program likes: origins are compared, hashed,
    /// described and released without recursion, which those of an `indirect enum` would not be.
    public struct Inner: Sendable, Hashable {
      private let box: Box
      /// The origin.
      public var origin: Origin { box.origin }

      /// Creates an origin to be put into another one.
      public init(_ origin: Origin) { box = Box(origin) }

      fileprivate func isSame(as other: Inner) -> Bool { box === other.box }

      /// Whether both are the same origin.
      public static func == (a: Inner, b: Inner) -> Bool { a.isSame(as: b) || a.origin == b.origin }

      /// Hashes the origin.
      public func hash(into hasher: inout Hasher) { hasher.combine(origin) }
    }
  }
}

extension OperationFailure.Origin {
  fileprivate final class Box: @unchecked Sendable {
    // Sendable: changed only while it dies.
    private(set) var origin: OperationFailure.Origin

    init(_ origin: OperationFailure.Origin) { self.origin = origin }

    deinit {
      switch origin {
      case .child, .attempt, .inDependency, .inCondition, .inOperation:
        FlatRelease.release(exchange(&origin, with: .body))
      case .condition, .body, .cancel, .dependency, .timeout, .skipped: return
      }
    }
  }

  /// A child, an attempt, a dependency, a condition or an awaited operation that something came
  /// from.
  enum Step: Hashable, Sendable {
    case child(String)
    case attempt(Int)
    case dependency(String)
    case condition(String)
    case operation(String)

    var text: String {
      switch self {
      case .child(let name): "child “\(name)”"
      case .attempt(let number): "attempt \(number)"
      case .dependency(let name): "dependency “\(name)”"
      case .condition(let name): "condition “\(name)”"
      case .operation(let name): "operation “\(name)”"
      }
    }

    func origin(around inner: OperationFailure.Origin) -> OperationFailure.Origin {
      switch self {
      case .child(let name): .child(name, inner)
      case .attempt(let number): .attempt(number, inner)
      case .dependency(let name): .dependency(name, inner)
      case .condition(let name): .condition(name, inner)
      case .operation(let name): .operation(name, inner)
      }
    }
  }

  /// Whether it was a child or an attempt that something came from.
  var isOfPart: Bool {
    switch outermost?.step {
    case .child, .attempt: true
    case .dependency, .condition, .operation, nil: false
    }
  }

  /// This as a step of a path that goes on in it; nil if the path has no use for it.
  var asStep: Step? {
    switch self {
    case .dependency(let name): .dependency(name)
    case .condition(let name): .condition(name)
    case .body, .cancel, .timeout, .skipped, .child, .attempt, .inDependency, .inCondition,
      .inOperation:
      nil
    }
  }

  /// The outermost step, and what is in it; nil without any.
  var outermost: (step: Step, inner: Inner)? {
    switch self {
    case .child(let name, let inner): (.child(name), inner)
    case .attempt(let number, let inner): (.attempt(number), inner)
    case .inDependency(let name, let inner): (.dependency(name), inner)
    case .inCondition(let name, let inner): (.condition(name), inner)
    case .inOperation(let name, let inner): (.operation(name), inner)
    case .condition, .body, .cancel, .dependency, .timeout, .skipped: nil
    }
  }

  /// The name of the operation in which it began: the last child, dependency or awaited operation
  /// on the way; nil when that is the operation itself.
  ///
  /// ```swift
  /// for cause in failure.rootCauses {
  ///   print("\(cause.origin.operationName ?? "map") failed: \(cause.error)")
  /// }
  /// ```
  ///
  /// - Complexity: O(n), n the number of steps of the path.
  public var operationName: String? {
    path.lazy.compactMap { step -> String? in
      switch step {
      case .child(let name), .dependency(let name), .operation(let name): name
      case .attempt, .condition: nil
      }
    }.reversed().first
  }

  /// All steps, from the outside in, with the last part as one if it has a use for that.
  var path: [Step] {
    let (steps, last) = steps
    return last.asStep.map { steps + [$0] } ?? steps
  }

  /// All steps, from the outside in, and what is in the last one.
  var steps: (steps: [Step], last: Self) {
    var steps: [Step] = []
    var last = self
    while let (step, inner) = last.outermost {
      steps.append(step)
      last = inner.origin
    }
    return (steps, last)
  }
}

extension OperationFailure.Origin: Hashable {
  /// Whether both are the same way.
  ///
  /// - Complexity: O(n), n the number of steps of the path.
  public static func == (a: Self, b: Self) -> Bool {
    var (a, b) = (a, b)
    while let (step, inner) = a.outermost {
      guard let (other, otherInner) = b.outermost, step == other else { return false }
      if inner.isSame(as: otherInner) { return true }
      (a, b) = (inner.origin, otherInner.origin)
    }
    switch (a, b) {
    case (.body, .body), (.cancel, .cancel), (.timeout, .timeout): return true
    case (.condition(let a), .condition(let b)), (.dependency(let a), .dependency(let b)),
      (.skipped(let a), .skipped(let b)):
      return a == b
    default: return false
    }
  }

  /// Hashes the whole way.
  ///
  /// - Complexity: O(n), n the number of steps of the path.
  public func hash(into hasher: inout Hasher) {
    let (steps, last) = steps
    hasher.combine(steps)
    hasher.combine(last.words)
  }
}

extension OperationFailure.Origin: CustomStringConvertible {
  /// Where the error came from, in words, from the outside in; of a long way both ends.
  public var description: String {
    let (steps, last) = steps
    return (steps.map { FailureHeading.step($0) }.texts + [last.words]).joined(separator: ", ")
  }

  private var words: String {
    switch self {
    case .condition(let name): "condition “\(name)”"
    case .body: "body"
    case .cancel: "cancel"
    case .dependency(let name): "dependency “\(name)”"
    case .timeout: "timeout"
    case .skipped(let reason): "skipped: \(reason)"
    case .child, .attempt, .inDependency, .inCondition, .inOperation: ""
    }
  }
}
