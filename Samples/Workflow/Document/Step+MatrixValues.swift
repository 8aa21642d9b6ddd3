extension Step {
  /// The step with the values of its combination in place of `${{ matrix.NAME }}`, for people.
  ///
  /// What is run is filled elsewhere, as a value is no part of a shell's program.
  package var withMatrixValues: Step {
    guard !matrix.isEmpty else { return self }
    var step = self
    step.mapTemplates { $0.filled(ofMatrix: matrix) }
    return step
  }

  /// The step with the values of parameters in their places, for people; those without one stay.
  package func with(parameters: [String: String?]) -> Step {
    var step = self
    step.mapTemplates { $0.filled(of: parameters) }
    return step
  }

  /// Changes all texts that have places.
  mutating func mapTemplates(_ change: (Template) -> Template) {
    command = command.map(change)
    rollback = rollback?.map(change)
    workingDirectory = workingDirectory.map(change)
    environment = environment.mapValues(change)
    when = when.map { $0.map(change) }
    require = require.map { $0.map(change) }
  }
}

extension Template {
  /// The template with the values of a combination in their places.
  func filled(ofMatrix matrix: [MatrixValue]) -> Template {
    mapParts { part in
      guard case .matrix(let name) = part, let value = matrix.first(where: { $0.name == name })
      else { return part }
      return .text(value.value)
    }
  }

  /// The template with the values of parameters that have one.
  func filled(of parameters: [String: String?]) -> Template {
    mapParts { part in
      guard case .parameter(let name) = part, let value = parameters[name] ?? nil else {
        return part
      }
      return .text(value)
    }
  }

  /// The template with the outputs of single combinations, by what the file calls their steps.
  func referring(to combinations: [String: String]) -> Template {
    mapParts { part in
      guard case .output(let step, let name) = part, let id = combinations[step] else {
        return part
      }
      return .output(step: id, name: name)
    }
  }

  private func mapParts(_ change: (Part) -> Part) -> Template { Template(parts.map(change)) }
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
