/// A condition's helper can't be run: it is a child of a group that has not started.
///
/// A group runs its children itself, so the operation can't add such a helper to its own queue. The
/// condition fails with this error; see ``OperationCondition/dependency(for:)``.
public struct OperationHelperError: Error, Hashable, CustomStringConvertible {
  /// The name of the helper.
  public var helper: String
  /// The name of its group.
  public var group: String

  /// Creates the error.
  ///
  /// - Parameters:
  ///   - helper: The name of the helper.
  ///   - group: The name of its group.
  public init(helper: String, group: String) {
    self.helper = helper
    self.group = group
  }

  /// What is wrong, and how to mend it, in one line.
  public var description: String {
    "Its helper “\(helper)” is a child of “\(group)”, which has not started and runs it itself. "
      + "Return the group as the helper, or an operation that is in no group."
  }
}
