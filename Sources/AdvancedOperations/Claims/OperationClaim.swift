/// Something that an operation holds while it runs, and that few may hold at a time.
///
/// All claims of an operation are taken in one step, at the moment at which it would start,
/// together with its slot, or not at all; they are given back in one step when it is finished and
/// its body has ended, or between two attempts if its policy is ``RetryPolicy/releasingSlot()``. An
/// operation that has to wait for a claim holds nothing meanwhile, no slot either, and keeps its
/// turn.
///
/// ```swift
/// let payment = ResultOperation { try await transfer(from: a, to: b) }
/// payment.addClaim(MutuallyExclusive("account \(a)"))
/// payment.addClaim(MutuallyExclusive("account \(b)"))
/// ```
///
/// Claims are attached with ``AdvancedOperation/addClaim(_:)``. They aren't conditions, and can't be
/// negated or combined with `&&` and `||`; a type of your own that passes on the requests of
/// several is a claim to all of them:
///
/// ```swift
/// struct Transfer: OperationClaim {
///   let accounts: [String]
///   var name: String { "transfer" }
///   var requests: [ClaimRequest] {
///     accounts.flatMap { MutuallyExclusive("account \($0)").requests }
///   }
/// }
/// ```
///
/// **Groups.** A child may enter what its group holds:
///
/// - The children of a group that holds a place of a category enter it one at a time, whatever their
///   own limits are. Nothing from outside comes between them.
/// - The children of a group that holds 5 units of a pool use 5 in all without waiting for any
///   operation outside. A child that needs more uses all 5, and takes the rest from the pool: first
///   come, first served, like the operations outside.
/// - A group inside of the group takes its turn like each child, and its own children enter what it
///   holds then.
/// - A start that was taken from a ``RateLimit`` isn't held: each child takes its own.
///
/// **Busy claims.** Where several claims are busy, one whose ``WhenBusy`` is to fail decides, then
/// one that is to skip, the first of them in the order of attaching; nothing is done to the holders
/// of others then. So failing wins over skipping, as with conditions.
///
/// **Cycles.** An operation whose wait for a claim would never end, because the holder waits for
/// that operation in some way (a group with a child that depends on it, say), fails with an
/// `OperationCycleError` that names the operations along the cycle.
public protocol OperationClaim: Sendable {
  /// What the claim is called in errors and explanations.
  var name: String { get }
  /// What is claimed: the requests of one or more claims of this module.
  ///
  /// Read once, when the claim is attached, without a lock held.
  var requests: [ClaimRequest] { get }
}

/// What an operation does whose claim is taken.
///
/// ```swift
/// backup.addClaim(MutuallyExclusive("backup", whenBusy: .skip))
/// ```
///
/// With several claims, ``fail`` wins over ``skip``, that over ``cancelHolder``, and all of these
/// over ``wait``; it is the same for several claims to one thing. Of two that fail, or skip, the
/// one that was attached first is named.
///
/// A claim that was free when the operation came may be busy when another one, which it waited for,
/// is free: its `WhenBusy` decides then, in the same way. It decides about the start: the next
/// attempt under ``RetryPolicy/releasingSlot()`` always waits.
///
/// Later versions may add cases, so a `switch` needs an `@unknown default`.
@nonexhaustive
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

/// An operation did not get, or had to give up, what it claims.
///
/// ```swift
/// upload.onFinish { _, outcome in
///   if case .busy(let holders) = outcome.failure?.first(OperationClaimError.self) {
///     print("held by", holders.map(\.name))
///   }
/// }
/// ```
///
/// Later versions may add cases, so a `switch` needs an `@unknown default`.
@nonexhaustive
public enum OperationClaimError: Error, Hashable, CustomStringConvertible {
  /// The claim is held by these operations, and was not to be waited for.
  case busy(holders: [OperationLabel])
  /// Another operation took the claim over.
  case preempted(by: OperationLabel)
  /// More units are needed than the pool has, so that waiting would never end.
  case exceedsCapacity(needed: Int, capacity: Int)
  /// As many operations as may have started within this time, and it was not to be waited for.
  case rateExceeded(count: Int, duration: Duration)

  /// One sentence with the operations or numbers involved.
  public var description: String {
    switch self {
    case .busy(let holders):
      holders.isEmpty
        ? "Others wait for it." : "It is held by \(holders.map(\.name).joined(separator: ", "))."
    case .preempted(let label): "Operation “\(label)” took over what this one held."
    case .exceedsCapacity(let needed, let capacity):
      "It has \(capacity) units in all, and \(needed) are needed."
    case .rateExceeded(let count, let duration):
      "No more than \(count) may start within \(duration.readable)."
    }
  }
}
