import TerminalSupport

/// Checks all names by which parts of a file refer to each other.
struct NameCheck {
  private let steps: [StepDraft]
  private let resources: [String: ResourceAmount]
  private let parameters: Set<String>
  private let findings: Findings
  /// The number of the step with each name, the first one where there are two.
  private let numbers: [String: Int]
  private let names: [String]

  init(
    _ steps: [StepDraft],
    resources: [String: ResourceAmount],
    parameters: Set<String>,
    findings: Findings
  ) {
    self.steps = steps
    self.resources = resources
    self.parameters = parameters
    self.findings = findings
    names = steps.map(\.id.text)
    numbers = Dictionary(zip(names, steps.indices)) { first, _ in first }
  }

  /// Notes all mistakes.
  func run() {
    for (index, step) in steps.enumerated() {
      if let first = numbers[step.id.text], first != index {
        findings.add(
          "two steps are called ‘\(step.id.text)’; the first is in line \(steps[first].place.line)",
          at: step.id.place
        )
      }
      for use in step.uses { check(use) }
    }
    let graph = StepGraph(needs: steps.indices.map(needs))
    let components = graph.components()
    for component in components.reversed() where component.count > 1 {
      guard let first = component.min(),
        let cycle = graph.cycle(from: first, in: Set(component))
      else { continue }
      report(cycle)
    }
    checkReferences(graph, components)
  }

  /// The numbers of the steps that a step needs; unknown ones are mistakes.
  private func needs(of index: Int) -> [Int] {
    let step = steps[index]
    return step.needs.compactMap { need in
      guard let number = numbers[need.base] else {
        findings.add(
          "the step ‘\(step.id.text)’ needs ‘\(need.text.excerpt())’, which doesn’t exist",
          at: need.place,
          help: helpToQuote(need, of: step) ?? help(for: need.text)
        )
        return nil
      }
      guard need.base != step.id.text else {
        findings.add("the step ‘\(need.base)’ needs itself", at: need.place)
        return nil
      }
      return number
    }
  }

  /// In a list, YAML reads a combination with two values as two names.
  private func helpToQuote(_ need: Named, of step: StepDraft) -> String? {
    guard let index = step.needs.firstIndex(of: need), index > 0,
      let combination = step.needs[..<index].last(where: { $0.text.contains("@") })
    else { return nil }
    return "a combination is put in quotes: ‘\"\(combination.text),\(need.text)\"’"
  }

  private func help(for name: String) -> String? { findings.help(for: name, among: names) }

  private func report(_ cycle: [Int]) {
    // A cycle of thousands is shown by its ends.
    let shown = cycle.count <= 12 ? cycle[...] : cycle.prefix(6)
    var path = shown.map { "\(names[$0]) (line \(steps[$0].place.line))" }
    if cycle.count > 12 { path += ["… \(cycle.count - 12) more …"] }
    if cycle.count > 12 {
      path += cycle.suffix(6).map { "\(names[$0]) (line \(steps[$0].place.line))" }
    }
    let next = names[cycle[1]]
    let place = steps[cycle[0]].needs.first { $0.base == next }?.place ?? steps[cycle[0]].place
    findings.add(
      "steps need each other in a cycle: \(path.joined(separator: " → "))",
      at: place,
      help: "one of these needs has to go"
    )
  }

  private func check(_ use: StepDraft.Use) {
    let name = use.name.text
    guard let resource = resources[name] else {
      let isEmpty = resources.isEmpty
      findings.add(
        "there is no resource ‘\(name.excerpt())’",
        at: use.name.place,
        help: isEmpty
          ? "declare it at the top: ‘resources: {\(name.excerpt()): \(AmountText.text(use.amount))}’"
          : findings.help(for: name, among: resources.keys.sorted())
            ?? "there are \(FieldReader.list(resources.keys.sorted()))"
      )
      return
    }
    guard resource.unit == use.amount.unit else {
      findings.add(
        "‘\(name)’ is counted in \(words(resource.unit)), not in \(words(use.amount.unit))",
        at: use.place,
        help: "there are \(AmountText.text(resource)) of it"
      )
      return
    }
    if use.amount.value > resource.value {
      findings.add(
        "there are \(AmountText.text(resource)) of ‘\(name)’,"
          + " not the \(AmountText.text(use.amount)) that the step uses",
        at: use.place
      )
    }
  }

  private func words(_ unit: ResourceAmount.Unit) -> String {
    switch unit {
    case .count: "pieces"
    case .bytes: "bytes"
    }
  }

  // MARK: - References

  /// A step that another one refers to, and that it has to need.
  private struct Wanted {
    var from: Int
    var to: Int
    /// What to do if both are the same.
    var ownHelp: String?
    var place: () -> Place
  }

  private func checkReferences(_ graph: StepGraph, _ components: [[Int]]) {
    var wanted: [Wanted] = []
    for (index, step) in steps.enumerated() {
      for reference in step.references {
        check(reference, of: index).map { wanted.append($0) }
      }
      for mention in step.mentions {
        let place = { findings.place(of: mention) }
        guard let number = numbers[mention.name] else {
          findings.add(
            "there is no step ‘\(mention.name.excerpt())’",
            at: place(),
            help: help(for: mention.name)
          )
          continue
        }
        wanted.append(Wanted(from: index, to: number, place: place))
      }
    }
    let pairs = wanted.map { (from: $0.from, to: $0.to) }
    for (wanted, isNeeded) in zip(wanted, graph.reaches(pairs, components: components))
    where !isNeeded {
      let name = names[wanted.to]
      let other = names[wanted.from]
      findings.add(
        wanted.from == wanted.to
          ? "the step ‘\(name)’ refers to itself"
          : "the step ‘\(other)’ refers to ‘\(name)’, but doesn’t need it",
        at: wanted.place(),
        help: wanted.from == wanted.to ? wanted.ownHelp : "add ‘\(name)’ to its ‘needs’"
      )
    }
  }

  private func check(_ reference: TemplateReference, of index: Int) -> Wanted? {
    let step = steps[index]
    switch reference.part {
    case .text, .environment, .run: return nil
    case .parameter(let name):
      findings.check(parameter: name, of: reference, in: parameters)
      return nil
    case .matrix(let name):
      guard let axes = step.matrix?.names else {
        // A matrix with a mistake in it may have this axis.
        if !step.hasMatrix {
          findings.add(
            "the step ‘\(step.id.text)’ has no matrix",
            at: findings.place(of: reference)
          )
        }
        return nil
      }
      if !axes.contains(name) {
        findings.add(
          "the matrix has no axis ‘\(name)’",
          at: findings.place(of: reference),
          help: findings.help(for: name, among: axes) ?? "there are \(FieldReader.list(axes))"
        )
      }
      return nil
    case .output(let id, let name):
      let base = Named(text: id, place: reference.start).base
      guard let number = numbers[base] else {
        findings.add(
          "there is no step ‘\(id.excerpt())’",
          at: findings.place(of: reference),
          help: help(for: id)
        )
        return nil
      }
      let giver = steps[number]
      let outputs = giver.outputs.map(\.text)
      let isUndoOfIts = reference.isInRollback && number == index
      // Each combination is undone by itself, with what it gave.
      if giver.hasMatrix, !isUndoOfIts, id == base, step.need(ofOneCombinationOf: id) == nil {
        findings.add(
          "‘\(id)’ has a matrix, so which of its combinations gives ‘\(name)’ isn’t known",
          at: findings.place(of: reference),
          help: number == index ? nil : step.help(toNeedOneCombinationOf: giver)
        )
      } else if !outputs.contains(name) {
        findings.add(
          "the step ‘\(id)’ has no output ‘\(name)’",
          at: findings.place(of: reference),
          help: findings.help(for: name, among: outputs)
            ?? (outputs.isEmpty
              ? "add ‘outputs: [\(name)]’ to it" : "there are \(FieldReader.list(outputs))")
        )
      }
      if isUndoOfIts { return nil }
      let help = "only its ‘on-rollback’ can have what it gives"
      return Wanted(from: index, to: number, ownHelp: help) { findings.place(of: reference) }
    }
  }
}

extension Findings {
  /// Notes a reference to a parameter that the file doesn't declare.
  func check(parameter name: String, of reference: TemplateReference, in names: Set<String>) {
    if names.contains(name) { return }
    let near = help(for: name, among: names.sorted())
    add(
      "there is no parameter ‘\(name)’",
      at: place(of: reference),
      help: near ?? "declare it at the top: ‘parameters: {\(name): DEFAULT}’, or without a default"
    )
  }
}
