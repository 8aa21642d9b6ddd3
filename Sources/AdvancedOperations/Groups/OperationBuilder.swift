public import CoreOperations

/// Collects the children of a group from operations, arrays of operations, `if`, `for` and `let`.
///
/// The closure may contain statements that prepare an operation, such as `addDependency(_:)`. Such statements
/// add no child. Assign the result of `onFinish(_:)` and similar methods to `_`, and write the operation on a
/// separate line.
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
  /// Adds one operation.
  public static func buildExpression(_ operation: Operation) -> [Operation] { [operation] }
  /// Adds several operations.
  public static func buildExpression(_ operations: [Operation]) -> [Operation] { operations }
  /// Accepts a statement without a value, which adds nothing.
  public static func buildExpression(_ statement: Void) -> [Operation] { [] }
  /// Rejects an observation, because an operation followed by `.onFinish { … }` wouldn't be added.
  @available(
    *,
    unavailable,
    message: "Write “_ = operation.onFinish { … }”, and the operation in a line of its own."
  )
  public static func buildExpression(_ observation: OperationObservation) -> [Operation] { [] }
  /// Combines all statements in order.
  public static func buildBlock(_ parts: [Operation]...) -> [Operation] { parts.flatMap { $0 } }
  /// Adds the operations of an `if` without `else`.
  public static func buildOptional(_ part: [Operation]?) -> [Operation] { part ?? [] }
  /// Adds the operations of the first branch.
  public static func buildEither(first part: [Operation]) -> [Operation] { part }
  /// Adds the operations of the second branch.
  public static func buildEither(second part: [Operation]) -> [Operation] { part }
  /// Adds the operations of a loop.
  public static func buildArray(_ parts: [[Operation]]) -> [Operation] { parts.flatMap { $0 } }
}
