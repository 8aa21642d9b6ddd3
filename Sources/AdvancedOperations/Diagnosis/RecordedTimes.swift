import CoreOperations

/// The times and internal properties of an operation that AdvancedOperationsVisualization reads.
///
/// A recorder of times receives the events of observers. An operation enters the states
/// *evaluatingConditions* and *ready* without an event. If ``AdvancedOperation/recordTimes()`` was called,
/// the operation keeps these times itself.
package struct RecordedTimes: Sendable {
  /// The time at which the operation began to evaluate conditions, or to look itself up in its journal.
  package let evaluating: Duration?
  /// The time at which the operation became ready.
  package let ready: Duration?
  /// The time at which the operation began to execute.
  package let executing: Duration?
  /// Whether the operation has conditions.
  package let hasConditions: Bool
  /// Whether the operation looks its value up in a journal before the conditions.
  package let isJournaled: Bool
  /// The names of the operation's claims.
  package let claims: [String]
  /// The parent of the operation: a group, or an operation that repeats.
  package let group: AdvancedOperation?
}

extension AdvancedOperation {
  /// Records the times at which the operation enters its states from now on.
  package final func recordTimes() { withCore { $0.recordTimes() } }

  /// The recorded times of the operation, and the properties that explain them in a picture.
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
