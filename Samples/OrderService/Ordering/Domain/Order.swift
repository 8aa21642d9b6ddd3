#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// An order that the shop has accepted, and what has become of it so far.
public struct Order: Hashable, Codable, Sendable, Identifiable {
  /// Where an order is.
  public enum State: Hashable, Codable, Sendable {
    /// Its steps go on, or will after a restart.
    case open

    /// A step failed, or the order was cancelled: what was done is being undone.
    case rollingBack(OrderFailure)

    /// All is done. Final.
    case confirmed

    /// A step failed, and nothing is left of what was done. Final.
    case failed(OrderFailure)

    /// It was cancelled, and nothing is left of what was done. Final.
    case cancelled(OrderFailure)

    /// The store refused a part of the rollback for good: a person has to look at it. Final.
    case stuck(OrderFailure, problems: [String])

    /// Whether nothing changes any more.
    public var isFinal: Bool {
      switch self {
      case .open, .rollingBack: false
      case .confirmed, .failed, .cancelled, .stuck: true
      }
    }

    /// Why the order came to nothing, or will.
    public var failure: OrderFailure? {
      switch self {
      case .open, .confirmed: nil
      case .rollingBack(let failure), .failed(let failure), .cancelled(let failure),
        .stuck(let failure, _):
        failure
      }
    }

    /// One word, as programs and pages show it: `open`, `rolling back`, `confirmed`, ….
    public var name: String {
      switch self {
      case .open: "open"
      case .rollingBack: "rolling back"
      case .confirmed: "confirmed"
      case .failed: "failed"
      case .cancelled: "cancelled"
      case .stuck: "stuck"
      }
    }
  }

  /// What it is called.
  public var id: OrderID

  /// The key that the client chose: a repeated request with it gets this order.
  public var key: String

  /// What was ordered.
  public var draft: OrderDraft

  /// When the store accepted it.
  public var acceptedAt: Date

  /// Where it is.
  public var state: State

  /// The steps that have begun, in the order in which they did.
  public var steps: [StepRecord]

  /// The instance that works on it, where several share a store; nil when none does.
  public var holder: String?

  /// Why it is to be cancelled, once that was asked for.
  public var cancelReason: String?

  /// Creates an order.
  public init(
    id: OrderID,
    key: String,
    draft: OrderDraft,
    acceptedAt: Date,
    state: State = .open,
    steps: [StepRecord] = [],
    holder: String? = nil,
    cancelReason: String? = nil
  ) {
    self.id = id
    self.key = key
    self.draft = draft
    self.acceptedAt = acceptedAt
    self.state = state
    self.steps = steps
    self.holder = holder
    self.cancelReason = cancelReason
  }
}
