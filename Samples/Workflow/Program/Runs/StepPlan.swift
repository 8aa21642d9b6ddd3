import AdvancedOperations
import AdvancedOperationsVisualization
import WorkflowDocument

/// The steps of a workflow as a plan to ask *what if*.
enum StepPlan {
  /// A plan of the steps, in their order; nil if they wait for each other in a cycle.
  static func plan(_ workflow: Workflow, durations: [Duration]) -> OperationPlan? {
    let numbers = Dictionary(workflow.steps.enumerated().map { ($1.id, $0) }) { first, _ in first }
    var edges: [(from: Int, to: Int)] = []
    for (number, step) in workflow.steps.enumerated() {
      for need in step.needs {
        if let from = numbers[need] { edges.append((from, number)) }
      }
    }
    return try? OperationPlan(durations: durations, edges: edges)
  }

  /// How long a step takes by what is known: the last run, or `sleep 2.5` as its command.
  ///
  /// - Returns: nil if nothing is known.
  static func duration(of step: Step, known: [String: Duration]) -> Duration? {
    if let duration = known[step.id] { return duration }
    let words: [String]
    switch step.command {
    case .shell(let template): words = plainText(template).split(separator: " ").map(String.init)
    case .arguments(let templates): words = templates.map(plainText)
    }
    guard words.count == 2, words[0] == "sleep", let seconds = Double(words[1]), seconds >= 0,
      seconds < 1e9
    else { return nil }
    return .seconds(seconds)
  }

  /// The steps in an order in which they could run one by one, else that of the file.
  static func order(_ workflow: Workflow) -> [Step] {
    let durations = [Duration](repeating: .seconds(1), count: workflow.steps.count)
    guard let schedule = plan(workflow, durations: durations)?.schedule(workers: 1) else {
      return workflow.steps
    }
    return schedule.starts.indices.sorted { schedule.starts[$0] < schedule.starts[$1] }
      .map { workflow.steps[$0] }
  }

  /// The steps and what they need, none of them run.
  static func graph(of workflow: Workflow) -> OperationGraph {
    let operations = workflow.steps.map { AdvancedOperation(name: $0.id) }
    let numbers = Dictionary(workflow.steps.enumerated().map { ($1.id, $0) }) { first, _ in first }
    for (step, operation) in zip(workflow.steps, operations) {
      for need in step.needs {
        if let number = numbers[need] { operation.addDependency(operations[number]) }
      }
    }
    return OperationGraph(of: operations)
  }

  private static func plainText(_ template: Template) -> String {
    template.parts.reduce(into: "") { text, part in
      if case .text(let part) = part { text += part } else { text += "${{}}" }
    }
  }
}

extension Workflow {
  /// The workflow with only these steps and what they need; with all if there are none.
  func reduced(to names: [String]) throws(Complaint) -> Workflow {
    if names.isEmpty { return self }
    do {
      return try only(names)
    } catch {
      if let name = error.names.first, error.names.count == 1, name.suggestion == nil {
        throw StepNames.unknown(name.name, in: steps.map(\.base))
      }
      throw Complaint(.usage, "\(error)")
    }
  }
}
