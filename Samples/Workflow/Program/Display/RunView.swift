import TerminalSupport
import WorkflowDocument
import WorkflowRunner

/// What is known of a run at a moment: events go in, numbers and lines come out.
///
/// Applying an event costs what the step's neighbours cost, so that workflows with tens of thousands
/// of steps stay cheap.
struct RunView: Sendable {
  /// A step that runs.
  struct Executing: Sendable, Equatable {
    var step: Int
    var attempt: Int
    var since: Duration
    var node: String?
    var line = ""
  }

  /// Where a step is.
  enum Phase: Sendable, Equatable {
    case waiting(cause: String?)
    case executing
    case ended(OutcomeExpression.Outcome)
  }

  let names: [String]
  let needs: [[Int]]
  private let dependents: [[Int]]
  private let numbers: [String: Int]
  private(set) var phases: [Phase]
  private var openNeeds: [Int]

  /// In the order in which they started.
  private(set) var executing: [Executing] = []
  private(set) var counts: [OutcomeExpression.Outcome: Int] = [:]
  /// How many wait for other steps.
  private(set) var waitingForSteps = 0
  /// How many wait for something else, by what it is.
  private(set) var waitingByCause: [String: Int] = [:]
  /// How many an earlier run had finished.
  private(set) var fromJournal = 0
  private(set) var isCancelling = false
  private(set) var rollingBack: [String] = []
  /// What is done, and what is left, in the time of the last run.
  private(set) var estimate: RunEstimate

  /// What a step waits for that needs nothing but a worker.
  static let turn = "its turn"

  /// What a cause is counted as: without who has it, and for how long.
  private static func key(_ cause: String) -> String {
    String(cause.prefix { $0 != "," && $0 != ":" })
  }

  init(_ workflow: Workflow, estimate: RunEstimate = RunEstimate()) {
    names = workflow.steps.map(\.id)
    let numbers = Dictionary(names.enumerated().map { ($1, $0) }) { first, _ in first }
    self.numbers = numbers
    needs = workflow.steps.map { $0.needs.compactMap { numbers[$0] } }
    var dependents = [[Int]](repeating: [], count: names.count)
    for (step, needs) in needs.enumerated() {
      for need in needs { dependents[need].append(step) }
    }
    self.dependents = dependents
    phases = needs.map { .waiting(cause: $0.isEmpty ? Self.turn : nil) }
    openNeeds = needs.map(\.count)
    self.estimate = estimate
    for step in names.indices { count(phases[step], 1) }
  }

  var ended: Int { counts.values.reduce(0, +) }
  var waiting: Int { waitingForSteps + waitingByCause.values.reduce(0, +) }

  /// The steps that a step still waits for.
  func openNeeds(of step: Int) -> [Int] {
    needs[step].filter { if case .ended = phases[$0] { false } else { true } }
  }

  mutating func apply(_ event: RunEvent) {
    switch event.kind {
    case .runStarted, .notice, .runEnded: break
    case .waiting(let name, let cause):
      // What it waits for among the steps is known without being said.
      guard let step = numbers[name], openNeeds[step] == 0, !hasEnded(step) else { return }
      leaveExecuting(step)
      move(step, to: .waiting(cause: cause))
    case .started(let name, let attempt, let node):
      guard let step = numbers[name], !hasEnded(step) else { return }
      leaveExecuting(step)
      executing.append(Executing(step: step, attempt: attempt, since: event.time, node: node))
      move(step, to: .executing)
    case .printed(let name, let line):
      guard let step = numbers[name] else { return }
      if let index = executing.lastIndex(where: { $0.step == step }) {
        let text = line.withoutEscapeSequences
        if text.contains(where: { !$0.isWhitespace }) { executing[index].line = text }
      }
    case .retrying(let name, let attempt, _, _):
      guard let step = numbers[name], !hasEnded(step) else { return }
      leaveExecuting(step)
      move(step, to: .waiting(cause: "attempt \(attempt + 1)"))
    case .ended(let name, let end): didEnd(name, end)
    case .rollingBack(let step): rollingBack.append(step)
    case .rolledBack(let step, _): rollingBack.removeAll { $0 == step }
    case .cancelling: isCancelling = true
    }
  }

  private mutating func didEnd(_ name: String, _ end: StepEnd) {
    guard let step = numbers[name], !hasEnded(step) else { return }
    leaveExecuting(step)
    move(step, to: .ended(end.outcome))
    counts[end.outcome, default: 0] += 1
    if end.isFromJournal { fromJournal += 1 }
    estimate.didEnd(name)
    for dependent in dependents[step] {
      openNeeds[dependent] -= 1
      if openNeeds[dependent] == 0, phases[dependent] == .waiting(cause: nil) {
        move(dependent, to: .waiting(cause: Self.turn))
      }
    }
  }

  private func hasEnded(_ step: Int) -> Bool {
    if case .ended = phases[step] { true } else { false }
  }

  private mutating func leaveExecuting(_ step: Int) {
    if phases[step] == .executing { executing.removeAll { $0.step == step } }
  }

  private mutating func move(_ step: Int, to phase: Phase) {
    count(phases[step], -1)
    phases[step] = phase
    count(phase, 1)
  }

  private mutating func count(_ phase: Phase, _ change: Int) {
    switch phase {
    case .waiting(nil): waitingForSteps += change
    case .waiting(let cause?):
      let key = Self.key(cause)
      let count = waitingByCause[key, default: 0] + change
      waitingByCause[key] = count == 0 ? nil : count
    case .executing, .ended: break
    }
  }
}
