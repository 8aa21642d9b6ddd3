import TerminalSupport

/// Reads the top of a file, and puts together what its parts are checked and made by.
struct WorkflowReader {
  /// Reads the values.
  let fields: FieldReader

  private var findings: Findings { fields.findings }

  /// Steps that a file may have, its matrices expanded.
  static let stepLimit = 100_000

  init(_ findings: Findings) { fields = FieldReader(findings: findings) }

  /// Reads a workflow.
  ///
  /// - Returns: The workflow; it is of no use where a mistake was found.
  func workflow(_ root: YAMLNode, name: String) -> Workflow {
    var workflow = Workflow(name: name)
    if case .list = root.content {
      findings.add(
        "a file has keys with values at its top, not a list",
        at: root.place,
        help: "put the list under ‘steps:’"
      )
      return workflow
    }
    var resourcePlaces: [String: Place] = [:]
    var stepsNode: YAMLNode?
    var defaults = StepReader.Defaults()
    var templates = TemplateReader(fields)
    for (key, entry) in fields.fields(of: root, "a workflow", as: FileKeys.Workflow.self) {
      switch key {
      case .name: workflow.name = self.name(entry.value) ?? name
      case .parameters: workflow.parameters = parameters(entry.value)
      case .envFile: workflow.environmentFiles = fields.texts(entry.value, "‘env-file’").map(\.text)
      case .secrets: workflow.secrets = secrets(entry.value)
      case .env: workflow.environment = templates.environment(entry.value)
      case .resources:
        for use in StepReader(fields: fields, defaults: .init()).uses(entry.value) {
          workflow.resources[use.name.text] = use.amount
          resourcePlaces[use.name.text] = use.name.place
        }
      case .defaults: defaults = self.defaults(entry.value)
      case .steps: stepsNode = entry.value
      }
    }
    let parameters = Set(workflow.parameters.keys)
    for reference in templates.references { checkOutside(reference, parameters) }
    let drafts = stepsNode.map { steps($0, defaults: defaults) } ?? []
    if stepsNode == nil, case .map = root.content {
      findings.add("the workflow has no ‘steps’", at: root.place)
    }
    NameCheck(drafts, resources: workflow.resources, parameters: parameters, findings: findings)
      .run()
    workflow.steps = MatrixExpansion(drafts, findings: findings).steps()
    return workflow
  }

  private func name(_ node: YAMLNode) -> String? {
    guard let text = fields.text(node, "the name of a workflow") else { return nil }
    guard text.text.unicodeScalars.allSatisfy(\.isPrintable), text.text.utf8.count <= 100 else {
      findings.add("the name of a workflow is a line of at most 100 bytes", at: text.place)
      return nil
    }
    return text.text
  }

  private func parameters(_ node: YAMLNode) -> [String: String?] {
    var result: [String: String?] = [:]
    for entry in fields.entries(of: node, "‘parameters’", example: "‘parameters: {version: 1.0}’") {
      guard TemplateParser.isName(entry.key) else {
        findings.add(
          "‘\(entry.key.excerpt())’ can’t be the name of a parameter",
          at: entry.place,
          help: "names have letters, digits, ‘-’ and ‘_’"
        )
        continue
      }
      // Without a value, it has to be given.
      let value = entry.value.isEmpty ? nil : fields.anyText(entry.value, "a parameter")?.text
      result[entry.key] = .some(value)
    }
    return result
  }

  private func secrets(_ node: YAMLNode) -> [String] {
    fields.texts(node, "‘secrets’").compactMap { name in
      if ShellQuoting.isName(name.text) { return name.text }
      findings.add(
        "‘\(name.text.excerpt())’ can’t be the name of a variable",
        at: name.place,
        help: "‘secrets’ names variables whose values aren’t shown, like ‘secrets: [API_TOKEN]’"
      )
      return nil
    }
  }

  private func defaults(_ node: YAMLNode) -> StepReader.Defaults {
    var defaults = StepReader.Defaults()
    let reader = StepReader(fields: fields, defaults: defaults)
    var templates = TemplateReader(fields)
    for (key, entry) in fields.fields(of: node, "‘defaults’", as: FileKeys.Defaults.self) {
      switch key {
      case .timeout: defaults.timeout = reader.timeout(entry.value)
      case .retry: defaults.retry = RetryReader(fields: fields).rule(entry.value)
      case .cwd: defaults.workingDirectory = templates.template(entry.value, "‘cwd’")
      case .shell: defaults.shell = reader.shell(entry.value)
      case .uses: defaults.uses = reader.uses(entry.value)
      }
    }
    defaults.references = templates.references
    return defaults
  }

  private func steps(_ node: YAMLNode, defaults: StepReader.Defaults) -> [StepDraft] {
    guard case .list(let nodes) = node.content else {
      findings.add(
        "‘steps’ is a list of steps, not \(node.kind)",
        at: node.place,
        help: "begin each step with ‘- id:’"
      )
      return []
    }
    if nodes.isEmpty { findings.add("‘steps’ is an empty list", at: node.place) }
    let reader = StepReader(fields: fields, defaults: defaults)
    return nodes.compactMap { reader.step($0) }
  }

  /// What the variables of the workflow refer to: no step is there yet.
  private func checkOutside(_ reference: TemplateReference, _ parameters: Set<String>) {
    switch reference.part {
    case .text, .environment, .run: break
    case .parameter(let name): findings.check(parameter: name, of: reference, in: parameters)
    case .matrix, .output:
      findings.add(
        "the variables of a workflow can’t depend on a step",
        at: findings.place(of: reference),
        help: "move the variable to the steps that it is for"
      )
    }
  }
}
