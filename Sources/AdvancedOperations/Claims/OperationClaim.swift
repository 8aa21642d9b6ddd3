/// Something that an operation holds while it runs, and that few may hold at a time.
///
/// All claims of an operation are taken in one step, at the moment at which it would start, together
/// with its slot, or not at all; they are given back in one step when it is finished and its body
/// has ended. An operation that has to wait for a claim holds nothing meanwhile, no slot either, and
/// keeps its turn.
///
/// ```swift
/// let payment = ResultOperation { try await transfer(from: a, to: b) }
/// payment.addCondition(MutuallyExclusive("account \(a)"))
/// payment.addCondition(MutuallyExclusive("account \(b)"))
/// ```
///
/// Claims are attached with ``AdvancedOperation/addCondition(_:)-(OperationClaim)``. They can't be
/// negated or combined.
public protocol OperationClaim: Sendable {
  /// What the claim is called in errors and explanations.
  var name: String { get }
  /// What is claimed.
  var request: ClaimRequest { get }
}

/// What a claim asks of the ``ExclusivityDomain``.
public struct ClaimRequest: Sendable {
  package enum Key: Hashable, Sendable {
    case category(ObjectIdentifier)
    case name(String)
  }

  package let key: Key
  package let limit: Int
  package let whenBusy: WhenBusy

  package init(key: Key, limit: Int, whenBusy: WhenBusy) {
    self.key = key
    self.limit = limit
    self.whenBusy = whenBusy
  }
}

/// An operation did not get what it claims.
public enum OperationClaimError: Error, Hashable, CustomStringConvertible {
  /// The claim is held by these operations, and was not to be waited for.
  case busy(holders: [String])
  /// Another operation, of this name, took the claim over.
  case preempted(by: String)

  /// One sentence with the operations involved.
  public var description: String {
    switch self {
    case .busy(let holders): "It is held by \(holders.joined(separator: ", "))."
    case .preempted(let name): "Operation “\(name)” took over what this one held."
    }
  }
}
