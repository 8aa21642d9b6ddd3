/// The keys of a step with their values as a file has them, but for its id and its needs.
package struct StepFields {
  /// A key and its value on one line.
  package struct Field: Equatable {
    package var key: FileKeys.Step
    /// YAML.
    package var text: String
    /// The text that it is, where it may stand on lines of its own.
    var plain: String?
  }

  /// The steps of the workflow, by what the file calls them, as ids.
  private let ids: [String: [String]]
  private let bases: [String: String]

  /// Begins to describe the steps of a workflow.
  package init(_ workflow: Workflow) {
    ids = Dictionary(grouping: workflow.steps, by: \.base).mapValues { $0.map(\.id) }
    bases = Dictionary(workflow.steps.map { ($0.id, $0.base) }) { first, _ in first }
  }

  /// What a step needs, as the file calls it; a single combination by its id.
  func needs(_ step: Step) -> [String] {
    let counts = Dictionary(step.needs.map { (bases[$0] ?? $0, 1) }, uniquingKeysWith: +)
    var seen: Set<String> = []
    return step.needs.map { need in
      guard let base = bases[need], counts[base] == ids[base]?.count else { return need }
      return base
    }.filter { seen.insert($0).inserted }
  }

  /// The keys of a step that it doesn't share with all others by default.
  package func fields(of step: Step) -> [Field] {
    var fields: [Field] = []
    func add(_ key: FileKeys.Step, _ text: String?, plain: String? = nil) {
      if let text { fields.append(Field(key: key, text: text, plain: plain)) }
    }
    func addCommand(_ key: FileKeys.Step, _ command: Command) {
      switch command {
      case .shell(let template): add(key, YAMLText.scalar(template.text), plain: template.text)
      case .arguments(let arguments): add(key, YAMLText.list(arguments.map(\.text)))
      }
    }
    addCommand(.command, step.command)
    add(.when, conditions(step.when))
    add(.require, conditions(step.require))
    add(.uses, map(step.uses, AmountText.text))
    add(.exclusive, step.exclusive.isEmpty ? nil : YAMLText.oneOrList(step.exclusive))
    if !step.rates.isEmpty {
      add(.rate, YAMLText.map(step.rates.map { ($0.key, rate($0)) }))
    }
    add(.retry, step.retry.map(retry))
    add(.timeout, step.timeout.map(DurationText.text))
    if let rollback = step.rollback { addCommand(.rollback, rollback) }
    add(.env, map(step.environment) { YAMLText.scalar($0.text) })
    add(.cwd, (step.workingDirectory?.text).map(YAMLText.scalar))
    add(.shell, step.shell.map(shell))
    add(.interactive, step.isInteractive ? "true" : nil)
    add(.outputs, step.outputs.isEmpty ? nil : YAMLText.list(step.outputs))
    return fields
  }

  /// Keys with values in the order of the alphabet; nil for none.
  func map<Value>(_ values: [String: Value], _ text: (Value) -> String) -> String? {
    guard !values.isEmpty else { return nil }
    return YAMLText.map(values.sorted { $0.key < $1.key }.map { ($0.key, text($0.value)) })
  }

  private func rate(_ rate: Rate) -> String { "\(rate.count)/\(DurationText.text(rate.duration))" }

  private func shell(_ shell: Shell) -> String {
    switch shell {
    case .posix(let program): YAMLText.scalar(program)
    case .exactly(let words): YAMLText.list(words)
    }
  }

  private func retry(_ rule: RetryRule) -> String {
    let normal = RetryRule(attempts: rule.attempts)
    if rule == normal, let attempts = rule.attempts { return "\(attempts)" }
    var entries: [(String, String)] = []
    func add(_ key: FileKeys.Retry, _ text: String?) {
      if let text { entries.append((key.rawValue, text)) }
    }
    add(.attempts, rule.attempts.map { "\($0)" })
    add(.delay, rule.delay == normal.delay ? nil : DurationText.text(rule.delay))
    add(.backoff, rule.backoff == normal.backoff ? nil : rule.backoff.rawValue)
    add(.maximumDelay, rule.maximumDelay.map(DurationText.text))
    add(.jitter, rule.hasJitter ? "true" : nil)
    add(.total, rule.total.map(DurationText.text))
    add(.retryAfter, rule.retryAfter.map(DurationText.text))
    return YAMLText.map(entries)
  }

  private func conditions(_ conditions: [StepCondition]) -> String? {
    guard !conditions.isEmpty else { return nil }
    let maps = conditions.map { YAMLText.map([entry($0)]) }
    return maps.count == 1 ? maps[0] : "[\(maps.joined(separator: ", "))]"
  }

  private func entry(_ condition: StepCondition) -> (String, String) {
    func texts(_ templates: [Template]) -> String { YAMLText.oneOrList(templates.map(\.text)) }
    switch condition {
    case .exists(let paths): return (FileKeys.Condition.exists.rawValue, texts(paths))
    case .missing(let paths): return (FileKeys.Condition.missing.rawValue, texts(paths))
    case .newer(let inputs, let outputs):
      let keys = FileKeys.Newer.self
      let map = [
        (keys.inputs.rawValue, texts(inputs)), (keys.outputs.rawValue, texts(outputs)),
      ]
      return (FileKeys.Condition.newer.rawValue, YAMLText.map(map))
    case .environment(let name, let value):
      let text = value.map { YAMLText.map([(name, YAMLText.scalar($0.text))]) } ?? name
      return (FileKeys.Condition.env.rawValue, text)
    case .reachable(let host, let port):
      let text = HostText.text(host: host.text, port: port)
      return (FileKeys.Condition.reachable.rawValue, YAMLText.scalar(text))
    case .freeDisk(let bytes, let path):
      let keys = FileKeys.FreeDisk.self
      let map = [
        (keys.atLeast.rawValue, AmountText.bytesText(bytes)),
        (keys.at.rawValue, YAMLText.scalar(path.text)),
      ]
      return (FileKeys.Condition.freeDisk.rawValue, YAMLText.map(map))
    case .outcome(let expression):
      return (FileKeys.Condition.outcome.rawValue, YAMLText.scalar(text(of: expression)))
    }
  }

  // MARK: - Outcomes

  /// An expression as a file has it, in which a step's name means all of its combinations.
  func text(of expression: OutcomeExpression) -> String { text(of: expression, binding: 0) }

  /// The same inside of another expression.
  ///
  /// The binding is 0 beside `||`, 1 beside `&&`, 2 after `!`; and 1 or 2 where a term of the same kind
  /// on the right would otherwise be read as one on the left.
  private func text(of expression: OutcomeExpression, binding: Int) -> String {
    if let text = nameText(of: expression) { return text }
    switch expression {
    case .step(let id, let outcome): return "\(outcome.rawValue)(\(bases[id] ?? id))"
    case .not(let inner): return "!\(text(of: inner, binding: 2))"
    case .and(let one, let other):
      let text = "\(text(of: one, binding: 1)) && \(text(of: other, binding: 2))"
      return binding > 1 ? "(\(text))" : text
    case .or(let one, let other):
      let text = "\(text(of: one, binding: 0)) || \(text(of: other, binding: 1))"
      return binding > 0 ? "(\(text))" : text
    }
  }

  /// The text if the expression is what reading makes of a step with a matrix.
  private func nameText(of expression: OutcomeExpression) -> String? {
    var first = expression
    while true {
      switch first {
      case .and(let one, _), .or(let one, _): first = one
      case .not: return nil
      case .step(let id, let outcome):
        guard let base = bases[id], let ids = ids[base], ids.count > 1,
          OutcomeExpression.combined(ids[...], outcome) == expression
        else { return nil }
        return "\(outcome.rawValue)(\(base))"
      }
    }
  }
}
