/// A condition of an operation did not hold.
public struct OperationConditionError: Error, CustomStringConvertible,
  CustomDebugStringConvertible
{
  /// The name of the condition.
  public var condition: String
  /// What the condition gave as its reason.
  public var underlying: any Error

  package init(condition: String, underlying: any Error) {
    self.condition = condition
    self.underlying = underlying
  }

  /// The name of the condition and its reason; of one that is made of others, the part that
  /// decided.
  public var description: String { Self.text(of: self) }

  /// The description on one line: what stands for the error in a printed array of errors.
  public var debugDescription: String { description.inOneLine }

  /// What an error says that may be made of others, and these of others; the rest of very many is
  /// left out.
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
        text += "There is no condition that could hold."
      case let none as any ConditionFailures:
        text += "None of them holds:"
        due += none.failures.reversed().map { ("\n", $0) }
      default: text += "\(error)"
      }
    }
    return text
  }

  /// Whether an error says only that dependencies did not succeed, also as a part of a condition.
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

/// An error that stands for the failures of several conditions.
protocol ConditionFailures: Error {
  /// Why they don't hold, in their order.
  var failures: [OperationConditionError] { get }
}

/// A condition's prerequisite can't be run: it is a child of a group that has not started.
///
/// A group runs its children itself, so the operation can't add such a prerequisite to its own
/// queue. The condition fails with this error; see ``OperationCondition/dependency(for:)``.
public struct OperationPrerequisiteError: Error, Hashable, CustomStringConvertible {
  /// The prerequisite.
  public var prerequisite: OperationLabel
  /// Its group.
  public var group: OperationLabel

  package init(prerequisite: OperationLabel, group: OperationLabel) {
    self.prerequisite = prerequisite
    self.group = group
  }

  /// What is wrong, and how to mend it, in one line.
  public var description: String {
    "Its prerequisite “\(prerequisite)” is a child of “\(group)”, which has not started and runs it itself. "
      + "Return the group as the prerequisite, or an operation that is in no group."
  }
}
