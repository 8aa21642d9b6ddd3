/// What an operation does whose claim is taken.
///
/// ```swift
/// backup.addCondition(MutuallyExclusive("backup", whenBusy: .skip))
/// ```
public enum WhenBusy: Sendable, CaseIterable {
  /// It waits: first come, first served.
  case wait
  /// It fails with an ``OperationClaimError``.
  case fail
  /// It is skipped.
  case skip
  /// It cancels those who hold the claim, and waits for them to end.
  case cancelHolder
}
