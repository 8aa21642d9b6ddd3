import TerminalSupport

/// Reads one step.
struct StepReader {
  /// What steps have that say nothing.
  struct Defaults {
    var timeout: Duration?
    var retry: RetryRule?
    var workingDirectory: Template?
    var shell: Shell?
    var uses: [StepDraft.Use] = []
    var references: [TemplateReference] = []
  }

  /// Reads the values.
  let fields: FieldReader
  /// For keys that the step doesn't have.
  let defaults: Defaults

  private var findings: Findings { fields.findings }

  /// Reads a step.
  ///
  /// - Returns: nil if it can't be told from others; mistakes are noted in any case.
  func step(_ node: YAMLNode) -> StepDraft? {
    let known = fields.fields(of: node, "a step", as: FileKeys.Step.self)
    guard case .map = node.content else { return nil }
    var step = StepDraft(id: Named(text: "", place: node.place), place: node.place)
    step.timeout = defaults.timeout
    step.retry = defaults.retry
    step.workingDirectory = defaults.workingDirectory
    step.shell = defaults.shell
    step.uses = defaults.uses
    var conditions = ConditionReader(TemplateReader(fields))
    var hasCommand = false
    var hasId = false
    for (key, entry) in known {
      let value = entry.value
      switch key {
      case .id:
        hasId = true
        step.id = id(value) ?? step.id
      case .command:
        hasCommand = true
        step.command = conditions.templates.command(value, "‘command’") ?? step.command
      case .needs: step.needs = needs(value, &conditions.templates)
      case .when: step.when = conditions.conditions(value, .when)
      case .require: step.require = conditions.conditions(value, .require)
      case .exclusive: step.exclusive = exclusive(value)
      case .uses: step.uses = uses(value)
      case .rate: step.rates = rates(value)
      case .retry: step.retry = RetryReader(fields: fields).rule(value)
      case .timeout: step.timeout = timeout(value)
      case .rollback: step.rollback = rollback(value, &conditions.templates)
      case .env: step.environment = conditions.templates.environment(value)
      case .cwd: step.workingDirectory = conditions.templates.template(value, "‘cwd’")
      case .interactive: step.isInteractive = fields.flag(value, "‘interactive’") ?? false
      case .shell: step.shell = shell(value)
      case .matrix:
        step.hasMatrix = true
        step.matrix = MatrixReader(fields: fields).matrix(value)
      case .outputs: step.outputs = outputs(value)
      }
    }
    if let shell = step.shell, !shell.expandsVariables { checkScripts(of: step, shell) }
    step.references = conditions.templates.references
    if !known.contains(where: { $0.key == .cwd }) { step.references += defaults.references }
    step.mentions = conditions.mentions
    let name = step.id.text
    if !hasId {
      findings.add("a step has no ‘id’", at: node.place, help: "like ‘id: build’")
    }
    if !hasCommand {
      let title = name.isEmpty ? "a step" : "the step ‘\(name)’"
      findings.add("\(title) has no ‘command’", at: node.place, help: "like ‘command: make’")
    }
    return name.isEmpty ? nil : step
  }

  /// What undoes a step, of which it may have the outputs.
  private func rollback(_ node: YAMLNode, _ templates: inout TemplateReader) -> Command? {
    let begin = templates.references.count
    let command = templates.command(node, "‘on-rollback’")
    for index in templates.references.indices.dropFirst(begin) {
      templates.references[index].isInRollback = true
    }
    return command
  }

  private func id(_ node: YAMLNode) -> Named? {
    guard let id = fields.text(node, "the id of a step") else { return nil }
    let quoted = "‘\(id.text.excerpt())’"
    let isPlain = id.text.utf8.allSatisfy {
      $0.isLetterOrDigit || $0 == 0x2D || $0 == 0x5F || $0 == 0x2E
    }
    guard isPlain else {
      findings.add(
        "the id \(quoted) has other characters than letters, digits, ‘-’, ‘_’ and ‘.’",
        at: id.place,
        help: suggestion(for: id.text).map { "like ‘\($0)’" }
      )
      return nil
    }
    guard let first = id.text.utf8.first, first.isLetterOrDigit || first == 0x5F else {
      findings.add("the id \(quoted) begins with neither a letter nor a digit", at: id.place)
      return nil
    }
    guard id.text.utf8.count <= Step.idLimit else {
      findings.add("the id \(quoted) has more than \(Step.idLimit) characters", at: id.place)
      return nil
    }
    return id
  }

  private func suggestion(for text: String) -> String? {
    let words = text.split { !$0.isASCII || !($0.isLetter || $0.isNumber || "._-".contains($0)) }
    let name = words.joined(separator: "-")
    return name.utf8.first?.isLetterOrDigit == true ? name.excerpt() : nil
  }

  private func needs(_ node: YAMLNode, _ templates: inout TemplateReader) -> [Named] {
    var seen: Set<String> = []
    let names = fields.texts(node, "‘needs’")
    // Which combination is needed may follow from the matrix of this step.
    for name in names where name.text.contains("${{") {
      let isOfMatrix = templates.template(name).parts.allSatisfy { part in
        switch part {
        case .text, .matrix: true
        default: false
        }
      }
      if !isOfMatrix {
        findings.add(
          "‘needs’ can only have values of the matrix",
          at: name.place,
          help: "like ‘needs: build@${{ matrix.os }}’"
        )
      }
    }
    return names.filter { name in
      if seen.insert(name.text).inserted { return true }
      findings.add("‘needs’ has ‘\(name.text.excerpt())’ twice", at: name.place)
      return false
    }
  }

  private func exclusive(_ node: YAMLNode) -> [String] {
    var names: [String] = []
    for name in fields.texts(node, "‘exclusive’") {
      if name.text.contains("${{") {
        findings.add("a name of ‘exclusive’ can’t have places", at: name.place)
      } else if names.contains(name.text) {
        findings.add("‘exclusive’ has ‘\(name.text.excerpt())’ twice", at: name.place)
      } else {
        names.append(name.text)
      }
    }
    return names
  }

  /// Reads amounts of resources.
  func uses(_ node: YAMLNode) -> [StepDraft.Use] {
    fields.entries(of: node, "‘uses’", example: "‘uses: {cpu: 2}’").compactMap { entry in
      let what = "the amount of ‘\(entry.key.excerpt())’"
      return fields.value(entry.value, what, AmountText.amount).map {
        StepDraft.Use(
          name: Named(text: entry.key, place: entry.place),
          amount: $0,
          place: entry.value.place
        )
      }
    }
  }

  private func rates(_ node: YAMLNode) -> [Rate] {
    fields.entries(of: node, "‘rate’", example: "‘rate: {registry: 10/min}’").compactMap { entry in
      let what = "the rate ‘\(entry.key.excerpt())’"
      return fields.value(entry.value, what, RateText.rate).map {
        Rate(key: entry.key, count: $0.count, per: $0.duration)
      }
    }
  }

  /// Reads a time, or `none`.
  func timeout(_ node: YAMLNode) -> Duration? {
    if case .text("none", _) = node.content { return nil }
    return fields.time(node, "‘timeout’")
  }

  /// Reads the name of a shell, or a program with its arguments.
  func shell(_ node: YAMLNode) -> Shell? {
    if case .list(let nodes) = node.content {
      if nodes.isEmpty { findings.add("‘shell’ is an empty list", at: node.place) }
      let words = fields.texts(node, "a word of ‘shell’")
      let arePlain = words.filter(isPlain).count == words.count
      return words.isEmpty || !arePlain ? nil : .exactly(words.map(\.text))
    }
    guard let name = fields.text(node, "‘shell’") else { return nil }
    guard isPlain(name) else { return nil }
    guard let shell = Shell.posix(named: name.text) else {
      findings.add(
        "‘\(name.text.excerpt())’ isn’t a shell that is known to have the options ‘-e’ and ‘-u’",
        at: name.place,
        help: "name one of \(FieldReader.list(Shell.posixNames)), or write a list with the "
          + "arguments before the script, like ‘[python3, -c]’"
      )
      return nil
    }
    return shell
  }

  /// Notes a mistake in a word that has places for values.
  private func isPlain(_ word: Named) -> Bool {
    guard word.text.contains("${{") else { return true }
    findings.add("‘shell’ can’t have places", at: word.place)
    return false
  }

  /// Values get into a script as variables, which only a shell expands.
  private func checkScripts(of step: StepDraft, _ shell: Shell) {
    for case .shell(let template) in [step.command, step.rollback].compactMap(\.self)
    where template.hasPlaces {
      findings.add(
        "the script of ‘\(step.id.text)’ has places, and ‘\(shell.program)’ isn’t known to expand "
          + "variables",
        at: step.place,
        help: "give the script its values as variables: ‘env: {VALUE: \"${{ … }}\"}’"
      )
    }
  }

  private func outputs(_ node: YAMLNode) -> [Named] {
    var seen: Set<String> = []
    return fields.texts(node, "‘outputs’").filter { name in
      guard TemplateParser.isName(name.text) else {
        findings.add(
          "‘\(name.text.excerpt())’ can’t be the name of an output",
          at: name.place,
          help: "names have letters, digits, ‘-’ and ‘_’"
        )
        return false
      }
      if seen.insert(name.text).inserted { return true }
      findings.add("‘outputs’ has ‘\(name.text)’ twice", at: name.place)
      return false
    }
  }
}
