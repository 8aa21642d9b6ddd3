import TerminalSupport

/// Reads what has to hold before a step runs.
struct ConditionReader {
  /// Which key they stand under.
  enum Kind: String { case when, require }

  /// Reads texts, and remembers what they refer to.
  var templates: TemplateReader
  /// The steps that outcomes name.
  var mentions: [OutcomeMention] = []

  private var fields: FieldReader { templates.fields }
  private var findings: Findings { templates.fields.findings }

  init(_ templates: TemplateReader) { self.templates = templates }

  /// Reads conditions, or a list of conditions, so that one kind can stand there twice.
  mutating func conditions(_ node: YAMLNode, _ kind: Kind) -> [StepCondition] {
    var conditions: [StepCondition] = []
    if case .list(let nodes) = node.content {
      for node in nodes { conditions += self.conditions(inMap: node, kind) }
    } else {
      conditions = self.conditions(inMap: node, kind)
    }
    return conditions
  }

  private mutating func conditions(inMap node: YAMLNode, _ kind: Kind) -> [StepCondition] {
    let known = fields.fields(of: node, "‘\(kind.rawValue)’", as: FileKeys.Condition.self)
    var conditions: [StepCondition] = []
    for (key, entry) in known {
      let value = entry.value
      switch key {
      case .exists:
        let paths = templates.templates(value, "‘exists’")
        if !paths.isEmpty { conditions.append(.exists(paths)) }
      case .missing:
        let paths = templates.templates(value, "‘missing’")
        if !paths.isEmpty { conditions.append(.missing(paths)) }
      case .newer: conditions += newer(value).map { [$0] } ?? []
      case .env: conditions += environment(value)
      case .reachable: conditions += reachable(value)
      case .freeDisk: conditions += freeDisk(value).map { [$0] } ?? []
      case .outcome:
        guard kind == .when else {
          findings.add(
            "‘outcome’ decides whether a step runs: it belongs to ‘when’",
            at: entry.place
          )
          continue
        }
        conditions += outcome(value).map { [.outcome($0)] } ?? []
      }
    }
    return conditions
  }

  private mutating func newer(_ node: YAMLNode) -> StepCondition? {
    var inputs: [Template]?
    var outputs: [Template]?
    for (key, entry) in fields.fields(of: node, "‘newer’", as: FileKeys.Newer.self) {
      switch key {
      case .inputs: inputs = templates.templates(entry.value, "‘inputs’")
      case .outputs: outputs = templates.templates(entry.value, "‘outputs’")
      }
    }
    guard case .map = node.content else { return nil }
    if inputs == nil { findings.add("‘newer’ needs ‘inputs’", at: node.place) }
    if outputs == nil { findings.add("‘newer’ needs ‘outputs’", at: node.place) }
    guard let inputs, let outputs else { return nil }
    return .newer(inputs: inputs, outputs: outputs)
  }

  /// `TOKEN`, `[TOKEN, CI]`, or `{CI: "true"}`.
  private mutating func environment(_ node: YAMLNode) -> [StepCondition] {
    var conditions: [StepCondition] = []
    if case .map(let entries) = node.content {
      for entry in entries where isVariable(Named(text: entry.key, place: entry.place)) {
        if let value = templates.value(ofVariable: entry) {
          conditions.append(.environment(name: entry.key, value: value))
        }
      }
    } else {
      for name in fields.texts(node, "‘env’") where isVariable(name) {
        conditions.append(.environment(name: name.text, value: nil))
      }
    }
    return conditions
  }

  private func isVariable(_ name: Named) -> Bool {
    if ShellQuoting.isName(name.text) { return true }
    findings.add(
      "‘\(name.text.excerpt())’ can’t be the name of a variable",
      at: name.place,
      help: "names have letters, digits and ‘_’, and begin with no digit"
    )
    return false
  }

  private mutating func reachable(_ node: YAMLNode) -> [StepCondition] {
    var conditions: [StepCondition] = []
    for text in fields.texts(node, "‘reachable’") {
      do throws(ValueProblem) {
        let (host, port) = try HostText.hostAndPort(text.text)
        let template = templates.template(Named(text: host, place: text.place))
        conditions.append(.reachable(host: template, port: port))
      } catch {
        findings.add(error, at: text.place)
      }
    }
    return conditions
  }

  /// `1GiB`, or `{at-least: 1GiB, at: build}`.
  private mutating func freeDisk(_ node: YAMLNode) -> StepCondition? {
    let here = Template(text: ".")
    guard case .map = node.content else {
      return fields.value(node, "‘free-disk’", AmountText.bytes).map {
        .freeDisk(bytes: $0, path: here)
      }
    }
    var bytes: Int?
    var path = here
    var hasBytes = false
    for (key, entry) in fields.fields(of: node, "‘free-disk’", as: FileKeys.FreeDisk.self) {
      switch key {
      case .atLeast:
        hasBytes = true
        bytes = fields.value(entry.value, "‘at-least’", AmountText.bytes)
      case .at: path = templates.template(entry.value, "‘at’") ?? here
      }
    }
    if !hasBytes { findings.add("‘free-disk’ needs ‘at-least’", at: node.place) }
    return bytes.map { .freeDisk(bytes: $0, path: path) }
  }

  private mutating func outcome(_ node: YAMLNode) -> OutcomeExpression? {
    guard let text = fields.text(node, "‘outcome’") else { return nil }
    var parser = OutcomeParser(text.text)
    do throws(OutcomeParser.Problem) {
      let expression = try parser.expression()
      mentions += parser.mentions.map {
        OutcomeMention(name: $0.name, start: text.place, text: text.text, offset: $0.offset)
      }
      return expression
    } catch {
      findings.add(
        error.problem,
        at: findings.source.place(ofOffset: error.offset, in: text.text, at: text.place)
      )
      return nil
    }
  }
}
