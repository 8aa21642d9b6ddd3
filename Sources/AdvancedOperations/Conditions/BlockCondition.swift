/// A condition that is a closure.
///
/// A closure that gives a Boolean says whether the operation may execute. One that gets the
/// operation gives an ``OperationConditionResult``, so that it can fail with an error of its own,
/// or skip the operation:
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
  /// The closure gave false.
  public struct NotSatisfied: Error, Hashable, CustomStringConvertible {
    /// Creates the error.
    public init() {}
    /// One sentence.
    public var description: String { "The closure returned false." }
  }

  /// What the condition is called.
  public let name: String
  private let body: Body

  // Not one closure around another, which costs each evaluation two more calls.
  private enum Body {
    case bool(@Sendable () async throws -> Bool)
    case result(@Sendable (AdvancedOperation) async throws -> OperationConditionResult)
  }

  /// Creates a condition with a name.
  ///
  /// - Parameters:
  ///   - name: What the condition is called in errors.
  ///   - body: True satisfies; false fails with ``NotSatisfied``, an error with itself.
  public init(_ name: String, _ body: @escaping @Sendable () async throws -> Bool) {
    self.name = name
    self.body = .bool(body)
  }

  /// Creates a condition that is called after its type.
  ///
  /// - Parameter body: True satisfies; false fails with ``NotSatisfied``, an error with itself.
  public init(_ body: @escaping @Sendable () async throws -> Bool) {
    self.init("BlockCondition", body)
  }

  /// Creates a condition with a name, whose closure gives a result.
  ///
  /// - Parameters:
  ///   - name: What the condition is called in errors.
  ///   - body: Gets the operation that the condition is attached to, and gives the result; a thrown
  ///     error is a failure.
  public init(
    _ name: String,
    _ body: @escaping @Sendable (AdvancedOperation) async throws -> OperationConditionResult
  ) {
    self.name = name
    self.body = .result(body)
  }

  /// Creates a condition that is called after its type, whose closure gives a result.
  ///
  /// - Parameter body: Gets the operation that the condition is attached to, and gives the result;
  ///   a thrown error is a failure.
  public init(
    _ body: @escaping @Sendable (AdvancedOperation) async throws -> OperationConditionResult
  ) {
    self.init("BlockCondition", body)
  }

  /// What the closure gives.
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
