public import CoreOperations

/// Collects the children of a group: operations, arrays of them, `if`, `for` and `let`.
///
/// ```swift
/// let nightly = GroupOperation(name: "nightly") {
///   Backup()
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
