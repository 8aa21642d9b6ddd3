/// A claim to a limited resource, which an operation holds while it runs.
///
/// When an operation starts, it acquires all its claims in one step together with its slot, or none of them.
/// When the operation is finished and its body has ended, it releases all claims in one step. With
/// ``RetryPolicy/releasingSlot()``, the operation also releases its claims between two attempts. While an
/// operation waits for a claim, it holds no claim and no slot, and keeps its place in the FIFO order.
///
/// ```swift
/// let payment = ResultOperation { try await transfer(from: a, to: b) }
/// payment.addClaim(MutuallyExclusive("account \(a)"))
/// payment.addClaim(MutuallyExclusive("account \(b)"))
/// ```
///
/// Attach a claim with ``AdvancedOperation/addClaim(_:)``. A claim isn't a condition, so it can't be negated
/// or combined with `&&` and `||`. To combine claims, write a type that returns the requests of several
/// claims:
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
/// **Groups.** A child may use the claims of its group:
///
/// - If a group holds a category, it admits one child to the category at a time, even if the claims of the
///   children have higher limits. No operation outside the group runs between the children.
/// - If a group holds 5 units of a pool, its children together use 5 units without waiting for operations
///   outside. A child that needs more units uses all 5, and acquires the rest from the pool in FIFO order,
///   like the operations outside.
/// - A group inside the group acquires its claims like a child. While the inner group holds them, only the
///   children of the inner group can use them.
/// - A group doesn't hold a token of a ``RateLimit``, so each child takes a token.
///
/// **Busy claims.** If several claims of an operation are busy, the first claim with ``WhenBusy/fail``
/// decides. Without such a claim, the first claim with ``WhenBusy/skip`` decides. The first claim is the one
/// that was attached first. If the operation fails or is skipped, it doesn't cancel the holders of other
/// claims.
///
/// **Cycles.** If an operation waits for a claim, and the holder of the claim waits for the operation,
/// neither could ever continue. For example, the holder is a group with a child that depends on the
/// operation. The waiting operation then fails with an `OperationCycleError` that names the operations of the
/// cycle.
public protocol OperationClaim: Sendable {
  /// The name of the claim in errors and explanations.
  var name: String { get }
  /// The requests that make up the claim; only claims of this module create requests.
  ///
  /// The operation reads the property once, when the claim is attached, while no lock is held.
  var requests: [ClaimRequest] { get }
}

/// The behavior of an operation whose claim is busy.
///
/// ```swift
/// backup.addClaim(MutuallyExclusive("backup", whenBusy: .skip))
/// ```
///
/// If several claims are busy, ``fail`` takes precedence over ``skip``, ``skip`` over ``cancelHolder``, and
/// ``cancelHolder`` over ``wait``. The same applies to several claims of an operation to one resource. If two
/// claims fail or skip the operation, the error or the reason names the claim that was attached first.
///
/// While an operation waits for one claim, another claim may become busy. The `WhenBusy` of that claim then
/// decides in the same way. The value only applies to the start of the operation: with
/// ``RetryPolicy/releasingSlot()``, later attempts always wait.
///
/// Later versions may add cases, so a `switch` needs an `@unknown default`.
@nonexhaustive
public enum WhenBusy: Sendable, CaseIterable {
  /// The operation waits, in FIFO order.
  case wait
  /// The operation fails with an ``OperationClaimError``.
  case fail
  /// The operation is skipped.
  case skip
  /// The operation cancels the operations that hold the claim, and waits until they have released it.
  case cancelHolder
}

/// An error that reports that an operation didn't acquire a claim, or lost it.
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
  /// The given operations hold the claim, and the operation must not wait for it.
  case busy(holders: [OperationLabel])
  /// Another operation took over the claim.
  case preempted(by: OperationLabel)
  /// The operation needs more units than the pool has, or more tokens than the rate's count, so it would wait
  /// forever.
  case exceedsCapacity(needed: Int, capacity: Int)
  /// The rate doesn't allow another start now, and the operation must not wait.
  case rateExceeded(count: Int, duration: Duration)

  /// A sentence with the operations or numbers of the error.
  public var description: String {
    switch self {
    case .busy(let holders):
      holders.isEmpty
        ? "Other operations wait for the claim."
        : "The claim is held by \(holders.map(\.name).joined(separator: ", "))."
    case .preempted(let label): "Operation “\(label)” took over the claim."
    case .exceedsCapacity(let needed, let capacity):
      "\(needed) units are needed, and there are \(capacity) in all."
    case .rateExceeded(let count, let duration):
      "The rate of \(counted(count, "start")) per \(duration.readable) doesn't allow a start now."
    }
  }
}
