import CoreOperations

/// Records in which states of their lives which events came to operations, and shows which never
/// did.
///
/// A suite that has never cancelled an operation while its conditions were asked has not tested
/// that:
///
/// ```swift
/// let recorder = TransitionRecorder()
/// simulation.run()
/// print(recorder.table)
/// #expect(recorder.missing.count < TransitionRecorder.possible.count)
/// ```
///
/// Hears of all operations of the process as long as it exists. Only debug builds tell; in others
/// ``isAvailable`` is false and nothing is recorded.
package final class TransitionRecorder: Sendable {
  /// An event in a state.
  package struct Transition: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// `Operation` or `AdvancedOperation`.
    package let machine: String
    /// The state in which the event came.
    package let state: String
    /// What came.
    package let event: String

    /// One phrase.
    package var description: String { "\(machine): \(event) in \(state)" }

    /// The order of their texts.
    package static func < (a: Self, b: Self) -> Bool { a.description < b.description }
  }

  private final class Record: Sendable {
    let counts = Locked<[Transition: Int]>([:])
  }

  private let record = Record()
  private let number: Int

  /// Begins to record.
  package init() {
    let record = record
    number = TransitionTrace.add { machine, state, event in
      let transition = Transition(machine: machine, state: state, event: event)
      record.counts.withLock { $0[transition, default: 0] += 1 }
    }
  }

  deinit { TransitionTrace.remove(number) }

  /// Whether this build tells of transitions.
  package static var isAvailable: Bool { TransitionTrace.isAvailable }

  /// How often each was taken.
  package var counts: [Transition: Int] { record.counts.withLock { $0 } }

  /// Those that can happen and have not.
  package var missing: [Transition] {
    let counts = counts
    return Self.possible.filter { counts[$0] == nil }
  }

  /// What can happen in a program without mistakes, but for a few that only two threads at the same
  /// moment make.
  package static let possible: [Transition] = TransitionTable.all.flatMap { table in
    table.events.flatMap { event in
      event.states.map { Transition(machine: table.machine, state: $0, event: event.name) }
    }
  }

  /// A line for each event, a column for each state, and how often it came there; `–` where it
  /// can't, and `0` where it never did.
  package var table: String {
    let counts = counts
    return TransitionTable.all.map { table in
      let rows = table.events.map { event in
        [event.name]
          + table.states.map { state in
            let transition = Transition(machine: table.machine, state: state, event: event.name)
            let count = counts[transition] ?? 0
            return event.states.contains(state) || count > 0 ? "\(count)" : "–"
          }
      }
      let all = [[table.machine] + table.states] + rows
      let widths = all[0].indices.map { column in all.map { $0[column].count }.max() ?? 0 }
      return all.map { row in
        zip(row, widths).map { cell, width in
          cell + String(repeating: " ", count: width - cell.count)
        }
        .joined(separator: "  ")
      }
      .joined(separator: "\n")
    }
    .joined(separator: "\n\n")
  }
}

/// What can happen to a state machine, state by state.
struct TransitionTable {
  let machine: String
  let states: [String]
  let events: [(name: String, states: [String])]

  static let all = [
    TransitionTable(
      machine: "Operation",
      states: ["created", "enqueued", "started", "executing", "ended", "finished"],
      events: [
        ("enqueued", ["created", "finished"]),
        ("turnCame", ["enqueued", "started", "finished"]),
        ("turnCameToMain", ["enqueued"]),
        ("mainReturnedForGood", ["executing"]),
        ("startCalled", ["created", "started", "ended", "finished"]),
        ("startedManually", ["created"]),
        ("mainReturned", ["executing", "finished"]),
        (
          "finishReported", ["created", "enqueued", "started", "executing", "ended", "finished"]
        ),
        ("cancelCalled", ["created", "enqueued", "started", "executing", "ended", "finished"]),
      ]
    ),
    TransitionTable(
      machine: "AdvancedOperation",
      states: ["pending", "evaluatingConditions", "ready", "executing", "finishing", "finished"],
      events: [
        ("conditionAdded", ["pending", "ready", "executing", "finishing", "finished"]),
        ("enqueued", ["pending"]),
        ("startedManually", ["pending"]),
        ("dependenciesFinished", ["pending", "evaluatingConditions", "ready", "finished"]),
        ("verdictsArrived", ["evaluatingConditions", "ready", "finished"]),
        ("decidedEarly", ["pending"]),
        ("reviewed", ["pending", "ready"]),
        ("turnCame", ["pending", "ready"]),
        ("launchDue", ["executing", "finishing"]),
        ("childrenExpected", ["pending"]),
        ("childrenDue", ["executing"]),
        ("childrenLeft", ["finishing"]),
        ("bodyBegan", ["executing"]),
        ("bodyEnded", ["executing", "finishing", "finished"]),
        ("finishCalled", ["pending", "ready", "executing", "finishing", "finished"]),
        ("willFinishDelivered", ["finishing"]),
        ("didFinishDelivered", ["finishing"]),
        (
          "cancelCalled",
          ["pending", "evaluatingConditions", "ready", "executing", "finishing", "finished"]
        ),
      ]
    ),
  ]
}
