import CoreOperations

/// How far the children of a group are, in sum: a plain value behind its lock.
struct GroupProgress {
  // Each of what the children said may be as large as can be; one that said nothing counts as one
  // unit.
  private var completedUnits: Int128 = 0
  private var totalUnits: Int128 = 0
  private var updates: [ObjectIdentifier: OperationProgressUpdate] = [:]

  var sum: OperationProgressUpdate {
    OperationProgressUpdate(
      completedUnitCount: Int64(clamping: completedUnits),
      totalUnitCount: Int64(clamping: totalUnits)
    )
  }

  /// A child was added; returns whether that changed the sum, which it always does.
  mutating func childCame() -> Bool {
    totalUnits += 1
    return true
  }

  /// A child that has not ended said how far it is; returns whether that changed the sum.
  ///
  /// Neither count of a child goes back, so that none of the group does: one that begins anew, as
  /// an operation that is tried again, counts as far as it has come until it gets further.
  mutating func childUpdated(_ child: Operation, _ update: OperationProgressUpdate) -> Bool {
    guard update.totalUnitCount > 0 else { return false }
    let old = part(of: child)
    let total = max(update.totalUnitCount, old.totalUnitCount)
    // One that said more than there is has done all of what it said.
    let completed = min(update.completedUnitCount, update.totalUnitCount)
    return replace(
      child,
      by: .init(
        completedUnitCount: max(completed, old.completedUnitCount),
        totalUnitCount: total
      )
    )
  }

  /// A child has ended, so all of it is done; returns whether that changed the sum.
  mutating func childCompleted(_ child: Operation) -> Bool {
    let total = part(of: child).totalUnitCount
    defer { updates[ObjectIdentifier(child)] = nil }
    return replace(child, by: .init(completedUnitCount: total, totalUnitCount: total))
  }

  private func part(of child: Operation) -> OperationProgressUpdate {
    updates[ObjectIdentifier(child)] ?? .init(completedUnitCount: 0, totalUnitCount: 1)
  }

  private mutating func replace(_ child: Operation, by update: OperationProgressUpdate) -> Bool {
    let old = part(of: child)
    updates[ObjectIdentifier(child)] = update
    completedUnits += Int128(update.completedUnitCount) - Int128(old.completedUnitCount)
    totalUnits += Int128(update.totalUnitCount) - Int128(old.totalUnitCount)
    return update != old
  }
}
