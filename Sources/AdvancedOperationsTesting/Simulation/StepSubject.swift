/// The operation, queue or code that a step is for.
struct StepSubject: Hashable, Sendable {
  /// Different for different subjects, and the same in each run with the same choices.
  let number: UInt64
  /// For reading: two subjects may have the same name.
  let name: String

  /// The code that runs the simulation.
  static let outside = StepSubject(number: 0, name: "outside")

  static func == (a: StepSubject, b: StepSubject) -> Bool { a.number == b.number }
  func hash(into hasher: inout Hasher) { hasher.combine(number) }
}

/// A task that a step is a part of.
struct StepTask: Sendable {
  /// Different for different tasks, and the same in each run with the same choices.
  let number: Fingerprint
  let name: String
}

/// The code that adds a step.
struct StepPlace {
  var subject: StepSubject
  /// The task that the running step is a part of; nil if it isn't a part of a task.
  var task: StepTask?
  /// Whether the code is in a task, and not in the runtime between two tasks.
  var isInTask = false
}

/// The kind of a step, which is a part of its identity.
enum StepKind: UInt64 {
  case decide = 1, barrier, evaluate, start, complete, becomeIdle
  case task, yield, actorTurn, timer, part, added, addedAtAnyTime, rest, time
}

extension Fingerprint {
  /// The identity of a step.
  ///
  /// - Parameters:
  ///   - kind: The kind of the step.
  ///   - subject: The number of the subject.
  init(_ kind: StepKind, of subject: UInt64) {
    self.init()
    add(kind.rawValue)
    add(subject)
  }

  /// The identity of a step of a task, or of one of several steps.
  init(_ kind: StepKind, of task: Fingerprint, count: UInt64 = 0) {
    self.init()
    add(kind.rawValue)
    add(task)
    add(count)
  }
}
