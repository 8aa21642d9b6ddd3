/// A condition that is a closure.
///
/// ```swift
/// operation.addCondition(BlockCondition("user agreed") { await consent.isGiven })
/// ```
public struct BlockCondition: OperationCondition {
  /// The closure answered false.
  public struct NotSatisfied: Error, Hashable, CustomStringConvertible {
    /// Creates the error.
    public init() {}
    /// One sentence.
    public var description: String { "It does not hold." }
  }

  /// What the condition is called.
  public let name: String
  private let body: @Sendable () async throws -> Bool

  /// Creates a condition with a name.
  ///
  /// - Parameters:
  ///   - name: What the condition is called in errors.
  ///   - body: True satisfies; false fails with ``NotSatisfied``, an error with itself.
  public init(_ name: String, _ body: @escaping @Sendable () async throws -> Bool) {
    self.name = name
    self.body = body
  }

  /// Creates a condition that is called after its type.
  ///
  /// - Parameter body: True satisfies; false fails with ``NotSatisfied``, an error with itself.
  public init(_ body: @escaping @Sendable () async throws -> Bool) {
    self.init("BlockCondition", body)
  }

  /// What the closure answers.
  public func evaluate(for operation: AdvancedOperation) async -> OperationConditionResult {
    do {
      return try await body() ? .satisfied : .failed(NotSatisfied())
    } catch {
      return .failed(error)
    }
  }
}
