extension WorkflowFile {
  /// A workflow as YAML; reading it gives an equal workflow, but for the lines of its steps.
  ///
  /// Steps of one matrix become one step again: with axes where all combinations are there, with a
  /// list of combinations otherwise. What `defaults` said stands at each step. Which combination each
  /// combination of a step needs is written for the first one of them only.
  ///
  /// - Parameter workflow: A workflow as reading makes it, or a part of one, as
  ///   ``Workflow/only(_:)`` makes it.
  /// - Returns: The text of a file.
  public static func text(of workflow: Workflow) -> String {
    let describer = StepFields(workflow)
    var lines = ["name: \(YAMLText.scalar(workflow.name))"]
    if !workflow.parameters.isEmpty {
      lines.append("parameters:")
      for (name, value) in workflow.parameters.sorted(by: { $0.key < $1.key }) {
        lines.append("  \(YAMLText.scalar(name)): \(value.map(YAMLText.scalar) ?? "")")
      }
    }
    if !workflow.environmentFiles.isEmpty {
      lines.append("env-file: \(YAMLText.list(workflow.environmentFiles))")
    }
    if !workflow.secrets.isEmpty { lines.append("secrets: \(YAMLText.list(workflow.secrets))") }
    if let text = describer.map(workflow.environment, { YAMLText.scalar($0.text) }) {
      lines.append("env: \(text)")
    }
    if let text = describer.map(workflow.resources, AmountText.text) {
      lines.append("resources: \(text)")
    }
    lines.append("steps:")
    var index = 0
    while index < workflow.steps.count {
      let step = workflow.steps[index]
      var combinations = [step.matrix]
      index += 1
      while index < workflow.steps.count, workflow.steps[index].base == step.base {
        combinations.append(workflow.steps[index].matrix)
        index += 1
      }
      lines.append("  - id: \(YAMLText.scalar(step.base))")
      let needs = describer.needs(step)
      if !needs.isEmpty { lines.append("    needs: \(YAMLText.list(needs))") }
      if !step.matrix.isEmpty { lines += matrix(combinations) }
      for field in describer.fields(of: step) {
        let key = field.key.rawValue
        if let block = field.plain.flatMap(YAMLText.block) {
          lines.append("    \(key): \(block[0])")
          lines += block.dropFirst().map { $0.isEmpty ? "" : "      \($0)" }
        } else {
          lines.append("    \(key): \(field.text)")
        }
      }
    }
    return lines.joined(separator: "\n") + "\n"
  }

  private static func matrix(_ combinations: [[MatrixValue]]) -> [String] {
    let names = combinations[0].map(\.name)
    var axes: [[String]] = names.map { _ in [] }
    var known: [Set<String>] = names.map { _ in [] }
    for combination in combinations {
      for (axis, value) in combination.enumerated()
      where known[axis].insert(value.value).inserted {
        axes[axis].append(value.value)
      }
    }
    let count = axes.reduce(1) { $0.multipliedReportingOverflow(by: $1.count).partialValue }
    var product: [[String]] = [[]]
    if count == combinations.count {
      for axis in axes { product = product.flatMap { before in axis.map { before + [$0] } } }
    }
    if product == combinations.map({ $0.map(\.value) }) {
      let axes = zip(names, axes).map { ($0, YAMLText.list($1)) }
      return ["    matrix: \(YAMLText.map(axes))"]
    }
    return ["    matrix:"]
      + combinations.map { values in
        "      - \(YAMLText.map(values.map { ($0.name, YAMLText.scalar($0.value)) }))"
      }
  }
}
