import CoreOperations

/// Everything that went wrong with an operation, in order, each with where it came from.
///
/// It is what ``ResultOperation/value`` throws, so one `catch` is enough to decide what to do:
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
/// Its description is an indented tree for people:
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
/// ``summary(limit:)`` is the same on one line, for logs, and what `"\(errors)"` prints of a
/// failure that is among the ``AdvancedOperation/errors`` of an operation.
///
/// The ``elements`` are the errors of the operation one by one, and the ``rootCauses`` lead to
/// where each of them began. The ``Origin`` of each says which operation failed, where, and whether
/// it was a timeout:
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
  /// One error and its origin.
  public struct Element: Sendable {
    /// Where the error came from.
    public var origin: Origin
    /// The error itself, as it was thrown or given.
    public var error: any Error
    /// Whether it is the failure of a dependency, and not this operation's own.
    public var isInherited: Bool
    /// What descriptions say of it beside that.
    var remarks: [Remark] = []

    /// Creates an element.
    public init(origin: Origin, error: any Error, isInherited: Bool = false) {
      self.origin = origin
      self.error = error
      self.isInherited = isInherited
    }
  }

  /// The errors in the order in which they came.
  ///
  /// Of many attempts, and of many operations of a scope, only the errors of the first and the last
  /// ones are kept. Descriptions say how many others there were.
  public var elements: [Element] {
    get { storage?.elements ?? [] }
    _modify {
      var elements = takeElements()
      defer { storage = .keeping(elements, owner: storage?.owner) }
      yield &elements
    }
  }
  /// How many operations of a group didn't run because of errors that are among the elements.
  public var notRunCount: Int {
    get { Int(notRun) }
    set { notRun = Int32(clamping: newValue) }
  }
  /// Nil without elements.
  private(set) var storage: Storage?
  // Small, because every outcome has one.
  private var notRun: Int32
  /// What cancelled the operation whose failure this is.
  private(set) var canceller: Canceller?

  /// Creates a failure.
  ///
  /// - Parameters:
  ///   - elements: The errors, in order. A failure without any is that of a cancel without a
  ///     reason.
  ///   - notRunCount: How many operations of a group didn't run because of them.
  public init(elements: [Element], notRunCount: Int = 0) {
    self.init(elements: elements, notRunCount: notRunCount, canceller: nil)
  }

  init(elements: [Element], notRunCount: Int = 0, canceller: Canceller?) {
    storage = .keeping(elements)
    notRun = Int32(clamping: notRunCount)
    self.canceller = canceller
  }

  /// This, as it is given to code that awaits the operation, which may throw it on.
  func given(by operation: Operation) -> OperationFailure {
    var failure = self
    failure.storage = Storage(storage, owner: operation.nameAndTag)
    return failure
  }

  /// Empties the storage if it isn't shared, so that a change of the elements copies nothing.
  private mutating func takeElements() -> [Element] {
    guard isKnownUniquelyReferenced(&storage), let storage else { return elements }
    return storage.takeElements()
  }

  /// The errors without their origins.
  public var errors: [any Error] { elements.map(\.error) }

  /// Whether nothing here is the operation's own: all of it was inherited from dependencies.
  ///
  /// Such an operation never ran, because something that it needed did not succeed. The exception
  /// is one that `recover(name:body:)` made and whose closure passed the failure on:
  /// ``AdvancedOperation/hasStarted`` tells them apart. False when there are no elements, and of
  /// what children or attempts failed with.
  public var isInherited: Bool {
    !elements.isEmpty && elements.allSatisfy { $0.isInherited && !$0.isOfPart }
  }

  /// The elements as an indented tree, without a trailing line break.
  public var description: String { indented(by: 0) }

  /// The ``summary(limit:)``: what stands for the failure in a printed array of errors.
  public var debugDescription: String { summary() }

  /// The description, shifted to the right, to stand below a heading of yours.
  ///
  /// ```swift
  /// print("\(operation) ended:\n\(failure.indented(by: 1))")
  /// ```
  ///
  /// - Parameter depth: How many levels of two spaces; less than none are none.
  /// - Returns: The lines, without a trailing line break.
  public func indented(by depth: Int) -> String {
    FailureTree(self).lines(depth: depth).joined(separator: "\n")
  }
}

/// Errors that there are because of a failure of another operation.
protocol ConsequentialError: Error {
  /// What went wrong with the others; without elements if that isn't known.
  var failure: OperationFailure { get }
  /// The operation that this is the failure of, if the origin of the error doesn't say that.
  var step: OperationFailure.Origin.Step? { get }
}

extension ConsequentialError {
  var step: OperationFailure.Origin.Step? { nil }
}

/// Errors that may say that a dependency did not succeed: not the operation's own.
protocol InheritedFailure: ConsequentialError {
  var isInherited: Bool { get }
}

extension InheritedFailure {
  var isInherited: Bool { true }
}

extension OperationFailure.Element {
  /// What is known of an error beside its origin, and is no error itself.
  enum Remark: Sendable {
    /// The error is that of a rollback, which undid the work of a group.
    case rollback
    /// No attempt followed, because the time for all of them was over.
    ///
    /// The depth is the number of steps of the origin from this attempt on, its own included: steps
    /// that are put around the origin later don't change it.
    case gaveUp(attempts: Int, limit: Duration, depth: Int)
    /// So many attempts or operations before this one failed as well, and their errors aren't kept.
    ///
    /// The depth is the number of steps of the origin from that attempt or operation on.
    case leftOut(Int, LeftOut, depth: Int)
    /// The error is that of a condition whose prerequisite, which was to make it hold, didn't
    /// succeed.
    case prerequisite(String, OperationFailure)
  }

  /// Of what there were too many to keep the errors of all.
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

  /// An error that a rollback threw.
  static func rollback(_ error: any Error) -> Self {
    var element = Self(origin: .body, error: error)
    element.remarks = [.rollback]
    return element
  }

  /// Notes with the last error of a retry that the time for all attempts is over.
  mutating func noteGivingUp(after attempts: Int, limit: Duration) {
    remarks.append(.gaveUp(attempts: attempts, limit: limit, depth: origin.path.count))
  }

  /// Notes with an error that others before it aren't kept.
  mutating func noteLeftOut(_ count: Int, _ kind: LeftOut) {
    remarks.append(.leftOut(count, kind, depth: origin.path.count))
  }

  /// Whether it was a child or an attempt that the error came from.
  fileprivate var isOfPart: Bool {
    switch origin.first {
    case .child, .attempt: true
    case .dependency, .condition, .operation, nil: false
    }
  }

  /// Whether a rollback threw the error.
  var isOfRollback: Bool {
    remarks.contains { if case .rollback = $0 { true } else { false } }
  }

  /// The prerequisites that didn't succeed, and what went wrong with them.
  var prerequisites: [(name: String, failure: OperationFailure)] {
    remarks.compactMap { remark in
      if case .prerequisite(let name, let failure) = remark { (name, failure) } else { nil }
    }
  }

  /// The lines behind the attempts of a retry, each with the number of steps that are left of the
  /// origin there.
  var ends: [(depth: Int, text: String)] {
    remarks.compactMap { remark in
      guard case .gaveUp(let attempts, let limit, let depth) = remark else { return nil }
      let count = counted(attempts, "attempt")
      return (depth, "gave up after \(count): total limit of \(limit.readable)")
    }
  }

  /// The lines before an error of which others aren't kept, each with the number of steps that are
  /// left of the origin there.
  var gaps: [(depth: Int, text: String)] {
    remarks.compactMap { remark in
      guard case .leftOut(let count, let kind, let depth) = remark else { return nil }
      return (depth, kind.text(count))
    }
  }

  /// The same error, which came from one more step.
  func within(_ step: OperationFailure.Origin.Step) -> Self {
    var element = self
    element.origin = origin.within(step)
    return element
  }
}
