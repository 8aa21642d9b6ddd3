/// A journal could not look a value up, or record it.
///
/// ```swift
/// if let error = failure.first(OperationJournalError.self), error.action == .record {
///   print("\(error.key) was done, and isn't recorded")
/// }
/// ```
public struct OperationJournalError: Error, CustomStringConvertible, CustomDebugStringConvertible {
  /// What a journal is called for.
  public enum Action: Sendable, Hashable {
    /// To look a value up: the operation has not run.
    case lookUp
    /// To record a value: the body has run, and has returned the value.
    case record
  }

  /// The key of the value.
  public var key: String
  /// What the journal was called for.
  public var action: Action
  /// What the journal threw.
  public var underlying: any Error

  /// Creates the error.
  ///
  /// - Parameters:
  ///   - key: The key of the value.
  ///   - action: What the journal was called for.
  ///   - underlying: What the journal threw.
  public init(key: String, action: Action, underlying: any Error) {
    self.key = key
    self.action = action
    self.underlying = underlying
  }

  /// What the journal could not do, with the key, and its error.
  public var description: String {
    switch action {
    case .lookUp: "The journal can't say whether “\(key)” was done: \(underlying)"
    case .record: "“\(key)” was done, and the journal has not recorded it: \(underlying)"
    }
  }

  /// The description on one line: what stands for the error in a printed array of errors.
  public var debugDescription: String { description.inOneLine }
}
