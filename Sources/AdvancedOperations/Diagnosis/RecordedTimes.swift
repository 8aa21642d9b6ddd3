import CoreOperations

/// What AdvancedOperationsVisualization reads of an operation besides public properties.
///
/// A recorder of times sees the events of observers. An operation enters the states
/// *evaluatingConditions* and *ready* without an event, so the operation keeps those times itself, if it
/// was told to.
package struct RecordedTimes: Sendable {
  /// When the operation began to evaluate conditions, or to look itself up in its journal.
  package let evaluating: Duration?
  /// When the operation became ready.
  package let ready: Duration?
  /// When the operation began to execute.
  package let executing: Duration?
  /// Whether the operation has conditions.
  package let hasConditions: Bool
  /// Whether a journal is asked before the conditions.
  package let isJournaled: Bool
  /// The names of the claims that the operation takes.
  package let claims: [String]
  /// The operation that this one is a child of: a group, or one that repeats.
  package let group: AdvancedOperation?
}

extension AdvancedOperation {
  /// Records the times at which the operation enters its states from now on.
  package final func recordTimes() { withCore { $0.recordTimes() } }

  /// The times that the operation has recorded, and what a picture says of their reasons.
  package final var recordedTimes: RecordedTimes {
    withCore { core in
      let times = core.extra?.stateTimes ?? StateTimes()
      return RecordedTimes(
        evaluating: times.evaluating,
        ready: times.ready,
        executing: times.executing,
        hasConditions: !core.conditions.isEmpty,
        isJournaled: core.isJournaled,
        claims: core.claims.map(\.name),
        group: core.extra?.group
      )
    }
  }
}
