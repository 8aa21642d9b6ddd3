/// The rule of the lines for one resource, as a value: who may have so much of it at this moment.
///
/// An operation goes from the line of the innermost group that holds some of the resource to the
/// common one, and stops at the first answer that isn't ``Answer/goesOn``:
///
/// - In each line the operations that came earlier are first, whatever is free.
/// - What a group holds is free for the operations inside of it, and for them alone.
/// - What goes beyond that it has at its turn in the common line, if there is room for all of it:
///   a part is never taken, so that no small demand passes a large one that came earlier.
package struct LineRule: Equatable, Sendable {
  /// How many of the resource's own units are free; negative when its limit is exceeded, because
  /// the capacity was lowered, or a limit of this operation's own is stricter.
  package let room: Int
  /// Whether units that a group holds are of use although there is no room: a pool's are, and
  /// a limit is exceeded by each operation that is in.
  package let isPool: Bool
  /// How many units no group has lent until here.
  package private(set) var open: Int

  package enum Answer: Equatable, Sendable {
    /// The operation may have what it demands.
    case enters
    /// Another operation comes first in this line.
    case waitsForTurn
    /// It is its turn, and there isn't enough.
    case waitsForRoom
    /// The next line further out decides.
    case goesOn
  }

  package init(units: Int, room: Int, isPool: Bool) {
    open = units
    self.room = room
    self.isPool = isPool
  }

  /// The line of the next group around the operation.
  ///
  /// - Parameters:
  ///   - units: How many units the group can lend.
  ///   - isBehind: Whether another operation comes first in this line.
  /// - Returns: Anything but ``Answer/waitsForRoom``.
  package mutating func group(lends units: Int, isBehind: Bool) -> Answer {
    if isBehind { return .waitsForTurn }
    lend(units)
    return open <= 0 && hasRoom ? .enters : .goesOn
  }

  /// The common line, which is the last.
  ///
  /// - Parameter isBehind: Whether another operation comes first in it.
  /// - Returns: Anything but ``Answer/goesOn``.
  package func common(isBehind: Bool) -> Answer {
    if isBehind { return .waitsForTurn }
    return hasRoom ? .enters : .waitsForRoom
  }

  /// A group lends units, without a look at who stands before the operation in its line.
  package mutating func lend(_ units: Int) { open -= units }

  /// Whether there is room for what no group lends.
  package var hasRoom: Bool { open <= 0 && isPool || max(0, open) <= room }

  /// How many units are missing.
  package var missing: Int { hasRoom ? 0 : max(0, open) - room }
}
