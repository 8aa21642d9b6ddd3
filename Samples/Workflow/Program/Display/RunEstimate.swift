import AdvancedOperations
import AdvancedOperationsVisualization
import WorkflowDocument

/// How long a run will take, by how long its steps took before.
struct RunEstimate: Sendable {
  /// How long the whole run takes with its number of jobs; nil if too little is known.
  let total: Duration?
  private let durations: [String: Duration]
  private let work: Duration
  private var done = Duration.zero

  /// Nothing is known.
  init() {
    total = nil
    durations = [:]
    work = .zero
  }

  /// Makes an estimate if at least half of the steps are known; the others count as the mean of them.
  init(_ workflow: Workflow, jobs: Int, known: [String: Duration]) {
    let found = workflow.steps.compactMap { known[$0.id] }
    let isEnough = !found.isEmpty && found.count * 2 >= workflow.steps.count
    let mean = isEnough ? found.reduce(.zero, +) / found.count : .zero
    let durations = isEnough ? workflow.steps.map { known[$0.id] ?? mean } : []
    self.durations = Dictionary(zip(workflow.steps.map(\.id), durations)) { first, _ in first }
    work = durations.reduce(.zero, +)
    total =
      isEnough
      ? StepPlan.plan(workflow, durations: durations)?.schedule(workers: max(jobs, 1)).duration
      : nil
  }

  /// The step needs no time any more.
  mutating func didEnd(_ step: String) { done += durations[step] ?? .zero }

  /// How much is done, from 0 to 1, with what the executing steps have done of their time.
  func fraction(executing: [(step: String, time: Duration)]) -> Double? {
    guard total != nil, work > .zero else { return nil }
    let partly = executing.reduce(Duration.zero) { sum, running in
      sum + min(running.time, durations[running.step] ?? .zero)
    }
    return min(max((done + partly) / work, 0), 1)
  }
}
