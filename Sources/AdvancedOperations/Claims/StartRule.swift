/// A rule that decides about the start of an operation if some of its claims are busy.
///
/// - An operation has all its claims, or none.
/// - The order of precedence is `.fail`, `.skip`, `.cancelHolder`, `.wait`. If two claims fail or skip the
///   operation, the first claim is named.
/// - An operation waits in one queue of waiters, where it delays the fewest others. The operation prefers the
///   queue of a resource without free units. The second choice is a resource with too few free units, the
///   third a resource with other waiters in front. Among equal resources, the first claim decides.
package struct StartRule: Sendable {
  /// An obstacle between an operation and a claim; the smallest obstacle is first.
  package enum Obstacle: Int, CaseIterable, Sendable {
    /// There are enough units, but other operations are before this one.
    case turn
    /// There are too few free units.
    case room
    /// No unit is free.
    case full
  }

  /// The decision about the start; a claim is identified by its index.
  package enum Decision: Equatable, Sendable {
    case enter
    case wait(for: Int)
    /// The operation waits, after it has cancelled the holders of all claims with `.cancelHolder`.
    case cancelHolders(for: Int)
    case fail(for: Int)
    case skip(for: Int)
  }

  /// A Boolean value that indicates whether the operation waits for busy claims, independently of their
  /// ``WhenBusy``.
  private let alwaysWaits: Bool
  private var decisive: (index: Int, whenBusy: WhenBusy)?
  private var awaited: (index: Int, obstacle: Obstacle)?

  package init(alwaysWaits: Bool) { self.alwaysWaits = alwaysWaits }

  /// Records that a claim is busy; the caller passes claims in the order in which they were attached.
  package mutating func isBusy(_ index: Int, _ whenBusy: WhenBusy, _ obstacle: Obstacle) {
    if decisive.map({ whenBusy.rank > $0.whenBusy.rank }) ?? true {
      decisive = (index, whenBusy)
    }
    if awaited.map({ obstacle.rawValue > $0.obstacle.rawValue }) ?? true {
      awaited = (index, obstacle)
    }
  }

  package var decision: Decision {
    guard let decisive, let awaited else { return .enter }
    switch alwaysWaits ? .wait : decisive.whenBusy {
    case .wait: return .wait(for: awaited.index)
    case .cancelHolder: return .cancelHolders(for: awaited.index)
    case .skip: return .skip(for: decisive.index)
    case .fail: return .fail(for: decisive.index)
    }
  }
}

extension WhenBusy {
  /// The precedence of the behavior: failing is before skipping, as with conditions, and both are before
  /// waiting.
  package var rank: Int {
    switch self {
    case .wait: 0
    case .cancelHolder: 1
    case .skip: 2
    case .fail: 3
    }
  }
}
