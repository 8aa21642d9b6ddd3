import TerminalSupport

/// Makes steps of what a file says: one for each combination of a matrix.
struct MatrixExpansion {
  private let drafts: [StepDraft]
  private let findings: Findings

  /// How many needs a file may have, those of matrices for each pair of combinations.
  private static let needsLimit = 1_000_000

  init(_ drafts: [StepDraft], findings: Findings) {
    self.drafts = drafts
    self.findings = findings
  }

  /// The steps; mistakes that only show now are noted.
  func steps() -> [Step] {
    // Nothing is made of a file with mistakes; but names that fall together are still found.
    var ids: [String: [String]] = [:]
    var count = 0
    for draft in drafts {
      ids[draft.id.text] = combinationIds(of: draft)
      count += ids[draft.id.text]?.count ?? 0
    }
    checkFileNames(ids)
    guard count <= WorkflowReader.stepLimit else {
      findings.add("there are more than \(WorkflowReader.stepLimit) steps", at: drafts[0].place)
      return []
    }
    guard findings.isEmpty, needsFit(ids) else { return [] }
    let known = ids.mapValues(Set.init)
    return drafts.flatMap { steps(of: $0, ids: ids, known) }
  }

  private func combinationIds(of draft: StepDraft) -> [String] {
    guard let matrix = draft.matrix else { return [draft.id.text] }
    return matrix.combinations.map { draft.id.text + "@" + $0.joined(separator: ",") }
  }

  private func needsFit(_ ids: [String: [String]]) -> Bool {
    var needs = 0
    for draft in drafts {
      let combinations = ids[draft.id.text]?.count ?? 1
      for need in draft.needs { needs += combinations * (ids[need.text]?.count ?? 1) }
      if needs > Self.needsLimit {
        findings.add(
          "combinations need each other more than \(Self.needsLimit) times",
          at: draft.place,
          help: "put a step between the two matrices that all of them need"
        )
        return false
      }
    }
    return true
  }

  /// Two steps would write one log: a file system may not tell capital letters from small ones.
  private func checkFileNames(_ ids: [String: [String]]) {
    var seen: [String: (id: String, draft: StepDraft)] = [:]
    for draft in drafts {
      for id in ids[draft.id.text] ?? [] {
        let name = Step.fileName(for: id)
        let place = draft.matrix?.place ?? draft.id.place
        guard name.utf8.count <= Step.fileNameLimit else {
          findings.add("the name ‘\(id.excerpt(60))’ of a combination is too long", at: place)
          continue
        }
        guard let other = seen.updateValue((id, draft), forKey: name.lowercased()) else { continue }
        // Two steps of one name are another mistake.
        if other.draft.id == draft.id {
          findings.add(
            "the combinations ‘\(other.id.excerpt(60))’ and ‘\(id.excerpt(60))’ would have one log",
            at: place,
            help: "let their values differ in letters, digits or ‘._+=-’"
          )
        } else if other.draft.id.text != draft.id.text {
          findings.add(
            "‘\(id.excerpt(60))’ and ‘\(other.id.excerpt(60))’ of line \(other.draft.place.line)"
              + " would have one log",
            at: place,
            help: "names differ in more than capital and small letters"
          )
        }
      }
    }
  }

  private func steps(
    of draft: StepDraft,
    ids: [String: [String]],
    _ known: [String: Set<String>]
  ) -> [Step] {
    var step = Step(id: draft.id.text, command: draft.command, line: draft.place.line)
    step.when = draft.when.map { condition in
      guard case .outcome(let expression) = condition else { return condition }
      return .outcome(expression.expanded { ids[$0] ?? [] })
    }
    step.require = draft.require
    step.exclusive = draft.exclusive
    step.uses = Dictionary(draft.uses.map { ($0.name.text, $0.amount) }) { _, last in last }
    step.rates = draft.rates
    step.retry = draft.retry
    step.timeout = draft.timeout
    step.rollback = draft.rollback
    step.environment = draft.environment
    step.workingDirectory = draft.workingDirectory
    step.shell = draft.shell
    step.isInteractive = draft.isInteractive
    step.outputs = draft.outputs.map(\.text)
    guard let matrix = draft.matrix else {
      addNeeds(of: draft, to: &step, ids, known)
      return [step]
    }
    return zip(combinationIds(of: draft), matrix.combinations).map { id, values in
      var copy = step
      copy.id = id
      copy.matrix = zip(matrix.names, values).map(MatrixValue.init)
      addNeeds(of: draft, to: &copy, ids, known)
      return copy
    }
  }

  /// Adds what a step needs; where that is one combination of another step, its outputs are those that
  /// the step can have.
  private func addNeeds(
    of draft: StepDraft,
    to step: inout Step,
    _ ids: [String: [String]],
    _ known: [String: Set<String>]
  ) {
    var combinations: [String: String] = [:]
    for need in draft.needs {
      if let all = ids[need.text] {
        step.needs += all
        continue
      }
      let id = Template(TemplateParser(need.text).parts).filled(ofMatrix: step.matrix).text
      if known[need.base]?.contains(id) != true {
        let all = ids[need.base] ?? []
        let more = all.count > 5 ? ", …" : ""
        findings.add(
          "the step ‘\(need.base)’ has no combination ‘\(id.excerpt(60))’",
          at: need.place,
          help: "there are \(all.prefix(5).joined(separator: ", "))\(more)"
        )
      }
      if draft.need(ofOneCombinationOf: need.base) != nil { combinations[need.base] = id }
      if !step.needs.contains(id) { step.needs.append(id) }
    }
    if !combinations.isEmpty {
      step.mapTemplates { $0.referring(to: combinations) }
    }
  }
}
