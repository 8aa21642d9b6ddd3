/// What an operation does whose claim is taken.
///
/// ```swift
/// backup.addCondition(MutuallyExclusive("backup", whenBusy: .skip))
/// ```
///
/// With several claims, ``fail`` wins over ``skip``, that over ``cancelHolder``, and all of these
/// over ``wait``; it is the same for several claims to one thing. Of two that fail, or skip, the
/// one that was attached first is named.
///
/// A claim that was free when the operation came may be busy when another one, which it waited for,
/// is free: its `WhenBusy` decides then, in the same way. It decides about the start: the next
/// attempt under ``RetryPolicy/releasingSlot()`` always waits.
public enum WhenBusy: Sendable, CaseIterable {
  /// It waits: first come, first served.
  case wait
  /// It fails with an ``OperationClaimError``.
  case fail
  /// It is skipped.
  case skip
  /// It cancels the operations that hold the claim, and waits for them to end.
  case cancelHolder
}
