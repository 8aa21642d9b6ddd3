extension Step {
  /// The step with the values of its combination in place of `${{ matrix.NAME }}`, for people.
  ///
  /// What is run is filled elsewhere, as a value is no part of a shell's program.
  package var withMatrixValues: Step {
    guard !matrix.isEmpty else { return self }
    let values = Dictionary(matrix.map { ($0.name, $0.value) }) { first, _ in first }
    let fill = { (template: Template) in template.filled(ofMatrix: values) }
    var step = self
    step.command = command.map(fill)
    step.rollback = rollback?.map(fill)
    step.workingDirectory = workingDirectory.map(fill)
    step.environment = environment.mapValues(fill)
    step.when = when.map { $0.map(fill) }
    step.require = require.map { $0.map(fill) }
    return step
  }
}

extension Template {
  fileprivate func filled(ofMatrix values: [String: String]) -> Template {
    Template(
      parts.map { part in
        guard case .matrix(let name) = part, let value = values[name] else { return part }
        return .text(value)
      }
    )
  }
}

extension Command {
  fileprivate func map(_ change: (Template) -> Template) -> Command {
    switch self {
    case .shell(let template): .shell(change(template))
    case .arguments(let templates): .arguments(templates.map(change))
    }
  }
}

extension StepCondition {
  fileprivate func map(_ change: (Template) -> Template) -> StepCondition {
    switch self {
    case .exists(let paths): .exists(paths.map(change))
    case .missing(let paths): .missing(paths.map(change))
    case .newer(let inputs, let outputs):
      .newer(inputs: inputs.map(change), outputs: outputs.map(change))
    case .environment(let name, let value): .environment(name: name, value: value.map(change))
    case .reachable(let host, let port): .reachable(host: change(host), port: port)
    case .freeDisk(let bytes, let path): .freeDisk(bytes: bytes, path: change(path))
    case .outcome: self
    }
  }
}
