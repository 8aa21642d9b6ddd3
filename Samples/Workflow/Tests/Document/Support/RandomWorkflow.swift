import WorkflowDocument

/// Numbers that a seed decides about.
struct SeededNumbers: RandomNumberGenerator {
  private var state: UInt64

  init(_ seed: UInt64) { state = seed }

  /// SplitMix64, as in https://prng.di.unimi.it/splitmix64.c.
  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var value = state
    value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
    value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
    return value ^ (value >> 31)
  }

  mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &self) < percent }

  mutating func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &self) }
}

/// Workflows as reading makes them, with all that a file can say, and texts that need quotes.
struct RandomWorkflow {
  private var numbers: SeededNumbers
  private(set) var workflow = Workflow(name: "random")
  private var ancestors: [String: Set<String>] = [:]
  private var combinations: [String: [[MatrixValue]]] = [:]
  private var bases: [String] = []

  init(seed: UInt64) {
    numbers = SeededNumbers(seed)
    workflow.name = line()
    if numbers.chance(40) { workflow.parameters["version"] = .some(line()) }
    if numbers.chance(40) { workflow.parameters["to-1"] = .some(nil) }
    if numbers.chance(30) { workflow.environmentFiles = [".env", "a \(line())"] }
    if numbers.chance(30) { workflow.secrets = ["TOKEN", "_x"] }
    for name in ["HOME_2", "_x"] where numbers.chance(40) {
      workflow.environment[name] = template([.run, .environment("PATH")], canBeEmpty: true)
    }
    if numbers.chance(70) { workflow.resources["cpu"] = ResourceAmount(numbers.number(4...64)) }
    if numbers.chance(70) {
      workflow.resources["shared memory: “*”"] = ResourceAmount(
        numbers.number(1 << 20...1 << 45),
        .bytes
      )
    }
    for index in 0..<numbers.number(1...8) { addStep(index) }
  }

  private mutating func addStep(_ index: Int) {
    let base = ["build", "1.0", "no", "a-b", "_x.y"][index % 5] + "\(index)"
    let needs = bases.filter { _ in numbers.chance(35) }
    var known = Set(needs)
    for need in needs { known.formUnion(ancestors[need] ?? []) }
    let matrix = numbers.chance(40) ? self.matrix() : [[]]
    var places: [Template.Part] = [.run, .environment("HOME")]
    places += workflow.parameters.keys.sorted().map { .parameter($0) }
    places += matrix[0].map { .matrix($0.name) }
    for step in workflow.steps where known.contains(step.base) && step.matrix.isEmpty {
      places += step.outputs.map { .output(step: step.id, name: $0) }
    }
    var step = Step(id: base, command: command(places))
    step.needs = needs.flatMap(ids)
    if numbers.chance(30) { step.require = conditions(places, known: nil) }
    if numbers.chance(50) { step.when = conditions(places, known: known.sorted()) }
    if numbers.chance(30) { step.exclusive = ["db", line()] }
    for (name, amount) in workflow.resources where numbers.chance(40) {
      step.uses[name] = ResourceAmount(numbers.number(1...amount.value), amount.unit)
    }
    if numbers.chance(20) {
      step.rates = [
        Rate(key: line(), count: numbers.number(1...99), per: duration()),
        Rate(key: "r", count: 1, per: .seconds(60)),
      ]
    }
    if numbers.chance(50) { step.retry = retry() }
    if numbers.chance(40) { step.timeout = duration() }
    if numbers.chance(30) { step.rollback = command(places) }
    if numbers.chance(40) {
      step.environment = ["A": template(places, canBeEmpty: true), "b_1": Template(text: "1.10")]
    }
    if numbers.chance(30) { step.workingDirectory = template(places) }
    if numbers.chance(20) {
      let isPOSIX = numbers.chance(50)
      step.shell = isPOSIX ? .posix("/opt/odd shells/bash") : .exactly(["zsh", "-f", line(), "-c"])
    }
    step.isInteractive = numbers.chance(10)
    if numbers.chance(50) { step.outputs = ["version", "_2", "no"] }
    for values in matrix {
      var copy = step
      copy.matrix = values
      if !values.isEmpty { copy.id = base + "@" + values.map(\.value).joined(separator: ",") }
      workflow.steps.append(copy)
    }
    bases.append(base)
    ancestors[base] = known
    combinations[base] = matrix
  }

  private func ids(_ base: String) -> [String] {
    workflow.steps.filter { $0.base == base }.map(\.id)
  }

  private mutating func matrix() -> [[MatrixValue]] {
    var product: [[MatrixValue]] = [[]]
    for name in ["os", "1-2", "y"].prefix(numbers.number(1...3)) {
      let values = ["1.10", "no", "a b", "“ö”", "~"].shuffled(using: &numbers)
        .prefix(numbers.number(1...3))
      product = product.flatMap { before in
        values.map { before + [MatrixValue(name: name, value: $0)] }
      }
    }
    guard numbers.chance(40) else { return product }
    // Some of the combinations, in any order.
    product.shuffle(using: &numbers)
    return Array(product.prefix(numbers.number(1...product.count)))
  }

  private mutating func retry() -> RetryRule {
    var rule = RetryRule(attempts: numbers.chance(70) ? numbers.number(2...9) : nil)
    if rule.attempts == nil { rule.total = .seconds(1 << 20) }
    if numbers.chance(50) {
      rule.delay = duration()
      rule.total = nil
      rule.attempts = 3
    }
    if numbers.chance(50) { rule.backoff = .linear }
    if numbers.chance(50) { rule.maximumDelay = rule.delay * 3 }
    rule.hasJitter = numbers.chance(50)
    if numbers.chance(50) { rule.retryAfter = duration() }
    return rule
  }

  private mutating func duration() -> Duration {
    switch numbers.number(0...3) {
    case 0: .milliseconds(numbers.number(1...100_000))
    case 1: .nanoseconds(numbers.number(1...1 << 40))
    case 2: .seconds(numbers.number(1...1_000_000))
    default: .seconds(60 * numbers.number(1...100))
    }
  }

  private mutating func conditions(
    _ places: [Template.Part],
    known: [String]?
  ) -> [StepCondition] {
    var all: [StepCondition] = [
      .exists([template(places)]),
      .missing([template(places), template(places)]),
      .newer(inputs: [template(places)], outputs: [template(places), template(places)]),
      .environment(name: "A_1", value: nil),
      .environment(name: "B", value: template(places, canBeEmpty: true)),
      .reachable(host: Template(text: "example.org"), port: numbers.number(1...65_535)),
      .reachable(host: Template(text: "::1"), port: 80),
      .freeDisk(bytes: numbers.number(1...1 << 40), path: template(places)),
    ]
    if let known, !known.isEmpty { all.append(.outcome(expression(known, depth: 0))) }
    return Array(all.shuffled(using: &numbers).prefix(numbers.number(1...4)))
  }

  private mutating func expression(_ known: [String], depth: Int) -> OutcomeExpression {
    switch depth > 4 ? 0 : numbers.number(0...4) {
    case 0, 1: return named(known[numbers.number(0...known.count - 1)])
    case 2: return .not(expression(known, depth: depth + 1))
    case 3: return .and(expression(known, depth: depth + 1), expression(known, depth: depth + 1))
    default: return .or(expression(known, depth: depth + 1), expression(known, depth: depth + 1))
    }
  }

  /// What `failed(NAME)` means: halves of halves of the combinations.
  private mutating func named(_ base: String) -> OutcomeExpression {
    let outcomes = OutcomeExpression.Outcome.allCases
    let outcome = outcomes[numbers.number(0...outcomes.count - 1)]
    func combined(_ ids: ArraySlice<String>) -> OutcomeExpression {
      guard ids.count > 1 else { return .step(ids[ids.startIndex], is: outcome) }
      let middle = ids.startIndex + ids.count / 2
      let one = combined(ids[..<middle])
      let other = combined(ids[middle...])
      return outcome == .succeeded ? .and(one, other) : .or(one, other)
    }
    return combined(ids(base)[...])
  }

  private mutating func command(_ places: [Template.Part]) -> Command {
    if numbers.chance(50) {
      return .shell(Template([.text("run "), .run] + template(places).parts))
    }
    return .arguments(
      [template(places)]
        + (0..<numbers.number(0...3)).map { _ in template(places, canBeEmpty: true) }
    )
  }

  private mutating func template(
    _ places: [Template.Part],
    canBeEmpty: Bool = false
  ) -> Template {
    if canBeEmpty, numbers.chance(20) { return Template([]) }
    var parts: [Template.Part] = []
    for _ in 0..<numbers.number(1...4) {
      if case .text = parts.last {
        parts.append(places[numbers.number(0...places.count - 1)])
      } else if numbers.chance(70) {
        parts.append(.text(text()))
      } else {
        parts.append(places[numbers.number(0...places.count - 1)])
      }
    }
    return Template(parts)
  }

  private mutating func line() -> String {
    let texts = ["no", "1.10", "a: b", "#x", "- y", "*a", "&a", "!x", "%", "ö 😀", "'", "\"", "x{}"]
    return texts[numbers.number(0...texts.count - 1)]
  }

  private mutating func text() -> String {
    let texts = [
      "echo", " a b ", "x\ny", "x\n\n  y\n", "first\n\tsecond: \"'\"\nthird", "$", "${", "{{", "}}",
      "${{", "${{ matrix.os }}", "\u{7}\u{1B}[1m", "\r\n", "\u{2028}", "a # b", "key: value", "~",
      "null", "0x10", "日本", "\\", "'", "\"", "*", "<<", "x \ny", "\n", "=", "\u{85}",
    ]
    return texts[numbers.number(0...texts.count - 1)]
  }
}
