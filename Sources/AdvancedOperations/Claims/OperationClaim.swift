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
/// payment.addCondition(MutuallyExclusive("account \(a)"))
/// payment.addCondition(MutuallyExclusive("account \(b)"))
/// ```
///
/// Claims are attached with ``AdvancedOperation/addCondition(_:)-(OperationClaim)``. They can't be
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
/// **Groups.** What a group holds, its children may enter: an operation uses first what the groups
/// around it hold and no other of their children uses, and takes only the rest from what is free.
/// So the children of a group that holds a category enter it one at a time, and those of a group
/// that holds 5 units of a pool use 5 in all without waiting for anybody outside. The rest it takes
/// first come, first served, like the operations outside: behind those that waited for it before. A
/// start that was taken from a ``RateLimit`` isn't held by anybody: each child takes its own.
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
