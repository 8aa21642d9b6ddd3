/// An error that reports that a condition of an operation isn't satisfied.
public struct OperationConditionError: Error, CustomStringConvertible,
  CustomDebugStringConvertible
{
  /// The name of the condition.
  public var condition: String
  /// The error that the condition gave as its reason.
  public var underlying: any Error

  package init(condition: String, underlying: any Error) {
    self.condition = condition
    self.underlying = underlying
  }

  /// The name of the condition and its reason; for a compound condition, also the part that decided.
  public var description: String { Self.text(of: self) }

  /// The description on one line, for printed arrays of errors.
  public var debugDescription: String { description.inOneLine }

  /// Returns the text of an error that may contain other errors on several levels.
  ///
  /// After 200 errors, the rest is left out.
  static func text(of error: any Error) -> String {
    var text = ""
    var due: [(before: String, error: any Error)] = [("", error)]
    var count = 0
    while let (before, error) = due.popLast() {
      text += before
      count += 1
      if count > 200 { return text + "…" }
      switch error {
      case let part as OperationConditionError:
        let isOfPart = part.underlying is OperationConditionError
        text += "condition “\(part.condition)”\(isOfPart ? ", because of " : ": ")"
        due.append(("", part.underlying))
      case let none as any ConditionFailures where none.failures.isEmpty:
        text += "The list of conditions is empty."
      case let none as any ConditionFailures:
        text += "None of the conditions is satisfied:"
        due += none.failures.reversed().map { ("\n", $0) }
      default: text += "\(error)"
      }
    }
    return text
  }

  /// Returns true if an error only reports that dependencies did not succeed, even if it is a part of a
  /// condition's error.
  static func isInherited(_ error: any Error) -> Bool {
    var due: [any Error] = [error]
    while let error = due.popLast() {
      switch error {
      case let part as OperationConditionError: due.append(part.underlying)
      case let none as any ConditionFailures where !none.failures.isEmpty: due += none.failures
      default: if (error as? any InheritedFailure)?.isInherited != true { return false }
      }
    }
    return true
  }
}

/// An error that represents the failures of several conditions.
protocol ConditionFailures: Error {
  /// The failures of the conditions, in the order of the conditions.
  var failures: [OperationConditionError] { get }
}

/// An error that reports a prerequisite that can't run because it is a child of a group that hasn't started.
///
/// A group runs its children itself, so the operation can't add such a prerequisite to its own
/// queue. The condition fails with this error; see ``OperationCondition/dependency(for:)``.
public struct OperationPrerequisiteError: Error, Hashable, CustomStringConvertible {
  /// The prerequisite.
  public var prerequisite: OperationLabel
  /// The group of the prerequisite.
  public var group: OperationLabel

  package init(prerequisite: OperationLabel, group: OperationLabel) {
    self.prerequisite = prerequisite
    self.group = group
  }

  /// The problem and its remedy, on one line.
  public var description: String {
    "The prerequisite “\(prerequisite)” is a child of the group “\(group)”, which has not started. "
      + "Return the group as the prerequisite, or an operation that isn't in a group."
  }
}
