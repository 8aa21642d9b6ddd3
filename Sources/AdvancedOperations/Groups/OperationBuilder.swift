public import CoreOperations

/// Collects the children of a group: operations, arrays of them, `if`, `for` and `let`.
///
/// Statements that prepare an operation, such as `addDependency(_:)`, may stand among them; they add
/// nothing. Assign the result of `onFinish(_:)` and its like to `_`, and name the operation in a line
/// of its own.
///
/// ```swift
/// let nightly = GroupOperation(name: "nightly") {
///   let backup = Backup()
///   _ = backup.onFinish { operation, _ in journal.write("\(operation)") }
///   backup
///   if isSunday { Vacuum() }
///   for table in tables { Store(table) }
/// }
/// ```
@resultBuilder
public enum OperationBuilder {
  /// One operation.
  public static func buildExpression(_ operation: Operation) -> [Operation] { [operation] }
  /// Several operations.
  public static func buildExpression(_ operations: [Operation]) -> [Operation] { operations }
  /// A statement without a value.
  public static func buildExpression(_ statement: Void) -> [Operation] { [] }
  /// An observation isn't an operation: an operation with `.onFinish { … }` behind it would be lost.
  @available(
    *,
    unavailable,
    message: "Write “_ = operation.onFinish { … }”, and the operation in a line of its own."
  )
  public static func buildExpression(_ observation: OperationObservation) -> [Operation] { [] }
  /// All statements, in order.
  public static func buildBlock(_ parts: [Operation]...) -> [Operation] { parts.flatMap { $0 } }
  /// An `if` without `else`.
  public static func buildOptional(_ part: [Operation]?) -> [Operation] { part ?? [] }
  /// The first branch.
  public static func buildEither(first part: [Operation]) -> [Operation] { part }
  /// The second branch.
  public static func buildEither(second part: [Operation]) -> [Operation] { part }
  /// A loop.
  public static func buildArray(_ parts: [[Operation]]) -> [Operation] { parts.flatMap { $0 } }
}
