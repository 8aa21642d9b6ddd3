/// A way to run a graph of tasks.
protocol Contestant: Sendable {
  var name: String { get }

  /// Why it does not take part in a job; nil if it does.
  func objection(to job: Job) -> String?

  /// How its time grows with the number of tasks, as long as nothing has been measured.
  func assumedExponent(for job: Job) -> Double

  /// Builds the job, runs it, waits until all of it has ended, and lets go of it.
  func run(_ job: Job, clock: inout PhaseClock)
}

extension Contestant {
  func objection(to job: Job) -> String? { nil }
  func assumedExponent(for job: Job) -> Double { 1 }
}

/// The contestants by the names that the command line knows.
enum ContestantName: String, CaseIterable, Sendable {
  case ours, dispatch, taskgroup, discarding, foundation, taskflow

  /// What it is called in tables.
  var title: String {
    switch self {
    case .ours: "ours"
    case .dispatch: "Dispatch"
    case .taskgroup: "TaskGroup"
    case .discarding: "DiscardingTaskGroup"
    case .foundation: "Foundation"
    case .taskflow: "Taskflow"
    }
  }
}
