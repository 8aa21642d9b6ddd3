import WorkflowDocument
import WorkflowRunner

@testable import workflow

extension Workflow {
  /// A workflow of steps that do nothing: names with what they need.
  static func steps(_ steps: KeyValuePairs<String, [String]>) -> Workflow {
    Workflow(
      name: "example",
      steps: steps.map { name, needs in
        var step = Step(id: name, command: .shell(Template(text: "true")))
        step.needs = needs
        return step
      }
    )
  }

  /// Many steps, of which each needs the one before.
  static func chain(_ count: Int) -> Workflow {
    var workflow = Workflow(name: "chain")
    for number in 0..<count {
      var step = Step(id: "s\(number)", command: .shell(Template(text: "true")))
      if number > 0 { step.needs = ["s\(number - 1)"] }
      workflow.steps.append(step)
    }
    return workflow
  }
}

extension RunEvent {
  static func at(_ seconds: Double, _ kind: Kind) -> RunEvent {
    RunEvent(time: .seconds(seconds), kind: kind)
  }
}

extension RunView {
  /// The state after some events.
  func after(_ events: RunEvent...) -> RunView {
    var view = self
    for event in events { view.apply(event) }
    return view
  }

  func frame(_ seconds: Double, width: Int = 80, height: Int = 24) -> [String] {
    RunFrame.lines(self, now: .seconds(seconds), width: width, height: height).map(\.text)
  }
}
