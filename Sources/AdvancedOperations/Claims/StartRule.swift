/// The rule of a start, as a value: what becomes of an operation some of whose claims are busy.
///
/// - It has all of its claims, or none.
/// - What forbids to wait decides before what is done to others, and that before waiting: `.fail`,
///   `.skip`, `.cancelHolder`, `.wait`. Of two that fail, or skip, the first one is named.
/// - It waits in one line, where it keeps the fewest others waiting: that of a resource of which
///   nothing is free, or else of one of which there isn't enough, or else where it is only not its
///   turn; of several, that of the first claim.
package struct StartRule: Sendable {
  /// What keeps an operation from a claim, the least first.
  package enum Obstacle: Int, CaseIterable, Sendable {
    /// There is enough, and other operations come first.
    case turn
    /// There isn't enough.
    case room
    /// Nothing is free.
    case full
  }

  /// What to do; claims are named by their index.
  package enum Decision: Equatable, Sendable {
    case enter
    case wait(for: Int)
    /// To wait, too, after the holders of all claims that say so were cancelled.
    case cancelHolders(for: Int)
    case fail(for: Int)
    case skip(for: Int)
  }

  /// Whether the operation waits for what is busy, whatever its claims say.
  private let alwaysWaits: Bool
  private var decisive: (index: Int, whenBusy: WhenBusy)?
  private var awaited: (index: Int, obstacle: Obstacle)?

  package init(alwaysWaits: Bool) { self.alwaysWaits = alwaysWaits }

  /// One of the claims is busy; claims come in the order in which they were attached.
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
  /// What forbids to wait counts most, and of that, failing, as with conditions.
  package var rank: Int {
    switch self {
    case .wait: 0
    case .cancelHolder: 1
    case .skip: 2
    case .fail: 3
    }
  }
}
