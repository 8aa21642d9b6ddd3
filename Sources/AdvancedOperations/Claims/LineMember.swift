import CoreOperations

/// What stands in a line: an operation, or the line of those inside of a group for its first.
///
/// Only touched with the lock of the domain held.
class LineMember {
  /// When it began to wait, as a number; nil if it doesn't.
  ///
  /// Negative for operations that were moved to the front. A line has that of its first.
  final var ticket: Int64?
  /// Where it stands in its line; for the line alone.
  final var position = ClaimLine.Position.inOrder(0)

  /// The operation; nil for a line.
  var claimant: Claimant? { nil }
  /// The line; nil for an operation.
  var line: ClaimLine? { nil }
}

/// The earliest ticket first; the index is that among those that came back to a line.
extension LineMember: HeapElement {
  final func isBefore(_ other: LineMember) -> Bool { ticket ?? .max < other.ticket ?? .max }
  final func moved(to index: Int) { position = .returned(index) }
}
