import CoreOperations

/// The errors of an operation that failed or was cancelled, each with its origin.
///
/// ``ResultOperation/value`` throws an `OperationFailure`, so one `catch` is enough to handle every case:
///
/// ```swift
/// do {
///   return .ok(try await order.value)
/// } catch let failure as OperationFailure {
///   if let reason = failure.skipReason { return .noContent(reason) }
///   if failure.isTimeout { return .gatewayTimeout }
///   if failure.isCancellation { return .clientClosedRequest }
///   if let refusal = failure.first(PaymentRefused.self) { return .paymentRequired(refusal.code) }
///   logger.error("\(failure.summary())")
///   return .internalServerError
/// }
/// ```
///
/// The description of a failure is an indented tree for human readers:
///
/// ```
/// child “open”
///   condition “file exists”: There is no file at /data/feed.json.
/// child “download”
///   attempt 1: The connection was lost.
///   attempt 2: The connection was lost.
/// 9 others did not run
/// ```
///
/// ``summary(limit:)`` returns the same on one line, for logs. If a failure is among the
/// ``AdvancedOperation/errors`` of an operation, `"\(errors)"` prints its summary.
///
/// The ``elements`` are the errors of the operation. The ``rootCauses`` are the errors in which they
/// originate. The ``Origin`` of an error contains the operation that failed, the path to it, and the cause,
/// such as a timeout:
///
/// ```swift
/// for element in failure.rootCauses {
///   let (name, path) = (element.origin.operation ?? "order", element.origin.path)
///   switch element.origin.cause {
///   case .timeout: print("“\(name)” took too long: \(path)")
///   case .condition: print("“\(name)” was not allowed to execute: \(path)")
///   default: print("“\(name)” failed: \(path)")
///   }
/// }
/// ```
///
/// ```
/// “stock” was not allowed to execute: [child “stock”, condition “shop is open”]
/// “payment” took too long: [child “payment”, attempt 1]
/// “payment” failed: [child “payment”, attempt 2]
/// ```
public struct OperationFailure: Error, CustomStringConvertible, CustomDebugStringConvertible {
  /// An error and its origin.
  public struct Element: Sendable {
    /// The origin of the error.
    public var origin: Origin
    /// The error, as it was thrown or passed to a method.
    public var error: any Error
    /// A Boolean value that indicates whether the error is the failure of a dependency, and not the
    /// operation's own error.
    public var isInherited: Bool
    /// Additional remarks about the error for descriptions.
    var remarks: [Remark] = []

    /// Creates an element.
    public init(origin: Origin, error: any Error, isInherited: Bool = false) {
      self.origin = origin
      self.error = error
      self.isInherited = isInherited
    }
  }

  /// The errors, in the order in which they occurred.
  ///
  /// If an operation makes many attempts, or a scope has many operations, only the errors of the first and
  /// the last ones are kept. Descriptions contain the number of omitted errors.
  public var elements: [Element] {
    get { storage?.elements ?? [] }
    _modify {
      var elements = takeElements()
      defer { storage = .keeping(elements, owner: storage?.owner) }
      yield &elements
    }
  }
  /// The number of operations of a group that didn't run because of errors among the elements.
  public var notRunCount: Int {
    get { Int(notRun) }
    set { notRun = Int32(clamping: newValue) }
  }
  /// The elements; nil without any.
  private(set) var storage: Storage?
  // Stored in 32 bits, because every outcome with a failure has this number.
  private var notRun: Int32
  /// The source of the cancel of the operation; nil if it wasn't cancelled.
  private(set) var canceller: Canceller?

  /// Creates a failure.
  ///
  /// - Parameters:
  ///   - elements: The errors, in order. A failure without errors represents a cancel without a reason.
  ///   - notRunCount: The number of operations of a group that didn't run because of the errors.
  public init(elements: [Element], notRunCount: Int = 0) {
    self.init(elements: elements, notRunCount: notRunCount, canceller: nil)
  }

  init(elements: [Element], notRunCount: Int = 0, canceller: Canceller?) {
    storage = .keeping(elements)
    notRun = Int32(clamping: notRunCount)
    self.canceller = canceller
  }

  /// Returns the failure for code that awaits the operation, and may rethrow the failure.
  func given(by operation: Operation) -> OperationFailure {
    var failure = self
    failure.storage = Storage(storage, owner: operation.nameAndTag)
    return failure
  }

  /// Moves the elements out of the storage if it isn't shared, so that a change of the elements doesn't copy
  /// them.
  private mutating func takeElements() -> [Element] {
    guard isKnownUniquelyReferenced(&storage), let storage else { return elements }
    return storage.takeElements()
  }

  /// The errors without their origins.
  public var errors: [any Error] { elements.map(\.error) }

  /// A Boolean value that indicates whether all errors are inherited from dependencies.
  ///
  /// If the value is true, the operation never ran, because a dependency did not succeed. The exception is an
  /// operation that `recover(name:body:)` returns, if its closure rethrew the failure.
  /// ``AdvancedOperation/hasStarted`` distinguishes these cases. The value is false if there are no elements,
  /// and for errors of children or attempts.
  public var isInherited: Bool {
    !elements.isEmpty && elements.allSatisfy { $0.isInherited && !$0.isOfPart }
  }

  /// The elements as an indented tree, without a trailing line break.
  public var description: String { indented(by: 0) }

  /// The ``summary(limit:)``, for printed arrays of errors.
  public var debugDescription: String { summary() }

  /// Returns the description, indented for use below your own heading.
  ///
  /// ```swift
  /// print("\(operation) ended:\n\(failure.indented(by: 1))")
  /// ```
  ///
  /// - Parameter depth: The number of levels, of two spaces each. A negative number counts as 0.
  /// - Returns: The lines, without a trailing line break.
  public func indented(by depth: Int) -> String {
    FailureTree(self).lines(depth: depth).joined(separator: "\n")
  }
}

/// An error that is the consequence of a failure of another operation.
protocol ConsequentialError: Error {
  /// The failure of the other operation; without elements if it isn't known.
  var failure: OperationFailure { get }
  /// The step to the other operation, if the origin of the error doesn't contain it.
  var step: OperationFailure.Origin.Step? { get }
}

extension ConsequentialError {
  var step: OperationFailure.Origin.Step? { nil }
}

/// An error that may report that a dependency did not succeed, and so isn't the operation's own error.
protocol InheritedFailure: ConsequentialError {
  var isInherited: Bool { get }
}

extension InheritedFailure {
  var isInherited: Bool { true }
}

extension OperationFailure.Element {
  /// A remark about an error, for descriptions.
  enum Remark: Sendable {
    /// A rollback, which undoes the work of a group, threw the error.
    case rollback
    /// No attempt followed, because the time limit for all attempts was exceeded, or a budget was used up.
    ///
    /// The depth is the number of steps of the origin from this attempt on, including the attempt. Steps that
    /// are added around the origin later don't change the depth.
    case gaveUp(attempts: Int, reason: String, depth: Int)
    /// The given number of attempts or operations before this one also failed, and their errors aren't kept.
    ///
    /// The depth is the number of steps of the origin from that attempt or operation on.
    case leftOut(Int, LeftOut, depth: Int)
    /// A condition gave the error, and its prerequisite with this name failed.
    case prerequisite(String, OperationFailure)
  }

  /// The kind of parts of which not all errors are kept.
  enum LeftOut: Sendable {
    case attempts, operations

    fileprivate func text(_ count: Int) -> String {
      let noun =
        switch self {
        case .attempts: "attempt"
        case .operations: "failed operation"
        }
      return "… \(count) more \(count == 1 ? noun : noun + "s") …"
    }
  }

  /// Returns an element for an error that a rollback threw.
  static func rollback(_ error: any Error) -> Self {
    var element = Self(origin: .body, error: error)
    element.remarks = [.rollback]
    return element
  }

  /// Adds a remark to the last error of a retry: the reason why no attempt followed.
  mutating func noteGivingUp(after attempts: Int, because reason: String) {
    remarks.append(.gaveUp(attempts: attempts, reason: reason, depth: origin.path.count))
  }

  /// Adds a remark to an error that errors before it aren't kept.
  mutating func noteLeftOut(_ count: Int, _ kind: LeftOut) {
    remarks.append(.leftOut(count, kind, depth: origin.path.count))
  }

  /// A Boolean value that indicates whether the error came from a child or an attempt.
  fileprivate var isOfPart: Bool {
    switch origin.first {
    case .child, .attempt: true
    case .dependency, .condition, .operation, nil: false
    }
  }

  /// A Boolean value that indicates whether a rollback threw the error.
  var isOfRollback: Bool {
    remarks.contains { if case .rollback = $0 { true } else { false } }
  }

  /// The prerequisites that didn't succeed, with their failures.
  var prerequisites: [(name: String, failure: OperationFailure)] {
    remarks.compactMap { remark in
      if case .prerequisite(let name, let failure) = remark { (name, failure) } else { nil }
    }
  }

  /// The lines to write after the attempts of a retry, each with the number of steps of the origin from there
  /// on.
  var ends: [(depth: Int, text: String)] {
    remarks.compactMap { remark in
      guard case .gaveUp(let attempts, let reason, let depth) = remark else { return nil }
      return (depth, "gave up after \(counted(attempts, "attempt")): \(reason)")
    }
  }

  /// The lines to write before an error for omitted errors, each with the number of steps of the origin from
  /// there on.
  var gaps: [(depth: Int, text: String)] {
    remarks.compactMap { remark in
      guard case .leftOut(let count, let kind, let depth) = remark else { return nil }
      return (depth, kind.text(count))
    }
  }

  /// Returns the element with one more step around its origin.
  func within(_ step: OperationFailure.Origin.Step) -> Self {
    var element = self
    element.origin = origin.within(step)
    return element
  }
}
