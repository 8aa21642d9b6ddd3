/// A condition that calls a closure.
///
/// A closure without a parameter returns true if the operation may execute. A closure with the operation as
/// its parameter returns an ``OperationConditionResult``, so that it can fail with your own error or skip the
/// operation:
///
/// ```swift
/// operation.addCondition(BlockCondition("user agreed") { await consent.isGiven })
/// operation.addCondition(
///   BlockCondition("is outdated") { operation in
///     await store.isCurrent(operation.name) ? .skipped(reason: "it is current") : .satisfied
///   }
/// )
/// ```
///
/// The closure runs in a task that is cancelled with the operation.
public struct BlockCondition: OperationCondition {
  /// An error that reports that the closure returned false.
  public struct NotSatisfied: Error, Hashable, CustomStringConvertible {
    /// Creates the error.
    public init() {}
    /// A sentence that names the cause.
    public var description: String { "The closure returned false." }
  }

  /// The name of the condition.
  public let name: String
  private let body: Body

  // An enum, because a closure around another closure would cost each evaluation two more calls.
  private enum Body {
    case bool(@Sendable () async throws -> Bool)
    case result(@Sendable (AdvancedOperation) async throws -> OperationConditionResult)
  }

  /// Creates a condition with a name.
  ///
  /// - Parameters:
  ///   - name: The name of the condition in errors.
  ///   - body: A closure that returns true if the condition is satisfied. If the closure returns false, the
  ///     condition fails with ``NotSatisfied``. If the closure throws an error, the condition fails with that
  ///     error.
  public init(_ name: String, _ body: @escaping @Sendable () async throws -> Bool) {
    self.name = name
    self.body = .bool(body)
  }

  /// Creates a condition with the name “BlockCondition”.
  ///
  /// - Parameter body: A closure that returns true if the condition is satisfied. If the closure returns
  ///   false, the condition fails with ``NotSatisfied``. If the closure throws an error, the condition fails
  ///   with that error.
  public init(_ body: @escaping @Sendable () async throws -> Bool) {
    self.init("BlockCondition", body)
  }

  /// Creates a condition with a name and a closure that returns a result.
  ///
  /// - Parameters:
  ///   - name: The name of the condition in errors.
  ///   - body: A closure that receives the operation to which the condition is attached and returns the
  ///     result. If the closure throws an error, the condition fails with that error.
  public init(
    _ name: String,
    _ body: @escaping @Sendable (AdvancedOperation) async throws -> OperationConditionResult
  ) {
    self.name = name
    self.body = .result(body)
  }

  /// Creates a condition with the name “BlockCondition” and a closure that returns a result.
  ///
  /// - Parameter body: A closure that receives the operation to which the condition is attached and returns
  ///   the result. If the closure throws an error, the condition fails with that error.
  public init(
    _ body: @escaping @Sendable (AdvancedOperation) async throws -> OperationConditionResult
  ) {
    self.init("BlockCondition", body)
  }

  /// Calls the closure and returns its result.
  public func evaluate(for operation: AdvancedOperation) async -> OperationConditionResult {
    do {
      switch body {
      case .bool(let body): return try await body() ? .satisfied : .failed(NotSatisfied())
      case .result(let body): return try await body(operation)
      }
    } catch {
      return .failed(error)
    }
  }
}
