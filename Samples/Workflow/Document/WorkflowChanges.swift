import TerminalSupport

/// What differs between a workflow and what it was when a run of it began.
public struct WorkflowChanges: Sendable, Equatable {
  /// What differs, a sentence for each difference, in the order of the steps.
  public private(set) var texts: [String] = []
  /// The ids of steps that had finished and are different now, or need one that is, in order.
  public private(set) var affected: [String] = []

  /// Whether nothing differs but the lines of the file.
  public var isEmpty: Bool { texts.isEmpty }

  /// Compares two workflows.
  ///
  /// - Parameters:
  ///   - old: What it was.
  ///   - new: What it is.
  ///   - finished: The ids of the steps that the run has finished.
  public init(from old: Workflow, to new: Workflow, finished: Set<String> = []) {
    if old.name != new.name {
      texts.append("the name was ‘\(old.name.excerpt())’, is ‘\(new.name.excerpt())’")
    }
    compare(
      "the parameter",
      old.parameters.mapValues { $0 ?? "" },
      new.parameters.mapValues { $0 ?? "" }
    )
    if old.environmentFiles != new.environmentFiles {
      texts.append("‘env-file’ has changed")
    }
    if old.secrets != new.secrets { texts.append("‘secrets’ have changed") }
    compare(
      "the variable",
      old.environment.mapValues(\.text),
      new.environment.mapValues(\.text)
    )
    compare(
      "the resource",
      old.resources.mapValues(AmountText.text),
      new.resources.mapValues(AmountText.text)
    )
    let oldSteps = Dictionary(old.steps.map { ($0.id, $0) }) { first, _ in first }
    let newIds = Set(new.steps.map(\.id))
    let oldFields = StepFields(old)
    let newFields = StepFields(new)
    var sentences: [(base: String, id: String, text: String)] = []
    var changed: Set<String> = []
    for step in new.steps {
      guard let before = oldSteps[step.id] else {
        changed.insert(step.id)
        sentences.append((step.base, step.id, " is new"))
        continue
      }
      let parts = Self.differences(
        Self.values(of: before, oldFields),
        Self.values(of: step, newFields)
      )
      guard !parts.isEmpty else { continue }
      changed.insert(step.id)
      let end = finished.contains(step.id) ? "; it had finished" : ""
      sentences.append((step.base, step.id, ": " + parts.joined(separator: "; ") + end))
    }
    for step in old.steps where !newIds.contains(step.id) {
      let end = finished.contains(step.id) ? "; it had finished" : ""
      sentences.append((step.base, step.id, " is gone" + end))
    }
    texts += Self.grouped(sentences)
    findAffected(in: new, changed: changed, finished: finished)
  }

  /// The steps that had finished with what a step was that is different now.
  private mutating func findAffected(
    in workflow: Workflow,
    changed: Set<String>,
    finished: Set<String>
  ) {
    var users: [String: [String]] = [:]
    for step in workflow.steps {
      for need in step.needs { users[need, default: []].append(step.id) }
    }
    var reached = changed
    var open = Array(changed)
    while let id = open.popLast() {
      for user in users[id] ?? [] where reached.insert(user).inserted { open.append(user) }
    }
    affected = workflow.steps.map(\.id).filter { reached.contains($0) && finished.contains($0) }
    let later = affected.filter { !changed.contains($0) }
    if !later.isEmpty {
      let names = FieldReader.list(Array(later.prefix(5)))
      let more = later.count > 5 ? " and \(later.count - 5) more" : ""
      let verb = later.count == 1 ? "needs" : "need"
      texts.append("\(names)\(more) had finished, and \(verb) a step that is different now")
    }
  }

  private mutating func compare(_ what: String, _ old: [String: String], _ new: [String: String]) {
    for name in Set(old.keys).union(new.keys).sorted() {
      let title = "\(what) ‘\(name.excerpt())’"
      switch (old[name], new[name]) {
      case (let before?, let after?) where before != after:
        texts.append("\(title) was ‘\(before.excerpt())’, is ‘\(after.excerpt())’")
      case (nil, let after?): texts.append("\(title) is new: ‘\(after.excerpt())’")
      case (_?, nil): texts.append("\(title) is gone")
      default: break
      }
    }
  }

  /// The keys of a step with what a sentence quotes.
  private static func values(of step: Step, _ fields: StepFields) -> [(key: String, text: String)] {
    // All of them have to hold, so their order is no difference.
    var step = step
    step.when.sort { "\($0)" < "\($1)" }
    step.require.sort { "\($0)" < "\($1)" }
    let needs = fields.needs(step)
    var values = [(key: FileKeys.Step.needs.rawValue, text: needs.joined(separator: ", "))]
    for value in step.matrix { values.append((key: "matrix.\(value.name)", text: value.value)) }
    return values + fields.fields(of: step).map { ($0.key.rawValue, $0.plain ?? $0.text) }
  }

  private static func differences(
    _ old: [(key: String, text: String)],
    _ new: [(key: String, text: String)]
  ) -> [String] {
    let before = Dictionary(old.map { ($0.key, $0.text) }) { first, _ in first }
    let after = Dictionary(new.map { ($0.key, $0.text) }) { first, _ in first }
    let keys = new.map(\.key) + old.map(\.key).filter { after[$0] == nil }
    return keys.compactMap { key in
      guard before[key] != after[key] else { return nil }
      let (one, other) = excerpts(before[key] ?? "", after[key] ?? "")
      if one.isEmpty { return "\(key) is new: \(other)" }
      if other.isEmpty { return "\(key) was \(one), is gone" }
      return "\(key) was \(one), is \(other)"
    }
  }

  /// The beginnings of two texts; of long ones, what stands around their first difference.
  private static func excerpts(_ one: String, _ other: String) -> (String, String) {
    let length = 60
    func quoted(_ text: String, from start: Int) -> String {
      guard !text.isEmpty else { return "" }
      let rest = String(text.dropFirst(start)).excerpt(length)
      return "‘\(start > 0 ? "…" : "")\(rest)’"
    }
    guard one.count > length || other.count > length, !one.isEmpty, !other.isEmpty else {
      return (quoted(one, from: 0), quoted(other, from: 0))
    }
    let common = zip(one, other).prefix { $0 == $1 }.count
    let start = common < length / 2 ? 0 : common - length / 4
    return (quoted(one, from: start), quoted(other, from: start))
  }

  /// Sentences about steps; what all combinations of a matrix have in common is one.
  private static func grouped(_ sentences: [(base: String, id: String, text: String)]) -> [String] {
    struct Group: Hashable {
      var base: String
      var text: String
    }
    let ids = Dictionary(grouping: sentences) { Group(base: $0.base, text: $0.text) }
      .mapValues { $0.map(\.id) }
    var seen: Set<Group> = []
    return sentences.compactMap { sentence in
      let group = Group(base: sentence.base, text: sentence.text)
      guard seen.insert(group).inserted, let members = ids[group] else { return nil }
      let isOne = members.count == 1
      return isOne
        ? "step ‘\(sentence.id)’\(sentence.text)"
        : "\(members.count) combinations of step ‘\(sentence.base)’"
          + sentence.text.replacing(" is ", with: " are ", maxReplacements: plural(sentence.text))
    }
  }

  /// Whether the first “is” is about the combinations.
  private static func plural(_ text: String) -> Int { text.hasPrefix(" is ") ? 1 : 0 }
}

extension Workflow {
  /// What differs from what the workflow was, a sentence for each difference.
  ///
  /// “step ‘test’: command was ‘make check’, is ‘make test’; it had finished”
  ///
  /// - Parameters:
  ///   - old: What it was.
  ///   - finished: The ids of the steps that a run of the old one has finished.
  /// - Returns: Sentences without full stops; none if nothing differs but lines of the file.
  public func differences(from old: Workflow, finished: Set<String> = []) -> [String] {
    WorkflowChanges(from: old, to: self, finished: finished).texts
  }
}
