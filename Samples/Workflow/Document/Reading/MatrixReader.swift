import TerminalSupport

/// Reads the axes of a matrix, or the combinations that there are.
struct MatrixReader {
  /// Reads the values.
  let fields: FieldReader

  private var findings: Findings { fields.findings }

  /// Reads `{os: [linux, macos], swift: ["6.2", "6.3"]}`, all combinations of which are meant, or a
  /// list of combinations: `[{os: linux, swift: "6.3"}, …]`.
  func matrix(_ node: YAMLNode) -> MatrixDraft? {
    if case .list(let nodes) = node.content { return combinations(nodes, at: node.place) }
    let example = "‘matrix: {os: [linux, macos]}’"
    var names: [String] = []
    var axes: [[String]] = []
    for entry in fields.entries(of: node, "‘matrix’", example: example) where isName(entry) {
      names.append(entry.key)
      axes.append(values(entry.value, axis: entry.key))
    }
    guard case .map(let entries) = node.content else { return nil }
    if entries.isEmpty {
      findings.add("the matrix has no axis", at: node.place, help: "like \(example)")
    }
    guard names.count == entries.count, !axes.isEmpty, axes.allSatisfy({ !$0.isEmpty }) else {
      return nil
    }
    var product = 1
    for axis in axes {
      product = product.multipliedReportingOverflow(by: axis.count).partialValue
      guard product <= MatrixDraft.limit else {
        let counts = axes.map { "\($0.count)" }.joined(separator: " × ")
        findings.add(
          "the matrix has \(counts) combinations, more than \(MatrixDraft.limit)",
          at: node.place
        )
        return nil
      }
    }
    var combinations: [[String]] = [[]]
    for axis in axes {
      combinations = combinations.flatMap { before in axis.map { before + [$0] } }
    }
    return MatrixDraft(names: names, combinations: combinations, place: node.place)
  }

  private func combinations(_ nodes: [YAMLNode], at place: Place) -> MatrixDraft? {
    guard nodes.count <= MatrixDraft.limit else {
      findings.add(
        "the matrix has \(nodes.count) combinations, more than \(MatrixDraft.limit)",
        at: place
      )
      return nil
    }
    guard let first = nodes.first else {
      findings.add("the matrix has no combination", at: place)
      return nil
    }
    let what = "a combination of the matrix"
    let example = "‘{os: linux}’"
    let names = fields.entries(of: first, what, example: example).filter(isName).map(\.key)
    guard case .map(let firstEntries) = first.content, firstEntries.count == names.count else {
      return nil
    }
    guard !names.isEmpty else {
      findings.add("\(what) has no value", at: first.place, help: "like \(example)")
      return nil
    }
    var combinations: [[String]] = []
    for node in nodes {
      let entries = fields.entries(of: node, what, example: example)
      let byName = Dictionary(entries.map { ($0.key, $0.value) }) { first, _ in first }
      guard Set(byName.keys) == Set(names) else {
        if case .map = node.content {
          findings.add(
            "all combinations have the values of the first: \(FieldReader.list(names))",
            at: node.place
          )
        }
        continue
      }
      let values = names.compactMap { name in byName[name].flatMap { value($0, axis: name) } }
      guard values.count == names.count else { continue }
      if combinations.contains(values) {
        findings.add("the combination occurs twice", at: node.place)
        continue
      }
      combinations.append(values)
    }
    guard combinations.count == nodes.count else { return nil }
    return MatrixDraft(names: names, combinations: combinations, place: place)
  }

  private func isName(_ entry: YAMLEntry) -> Bool {
    if TemplateParser.isName(entry.key) { return true }
    findings.add(
      "‘\(entry.key.excerpt())’ can’t be the name of an axis",
      at: entry.place,
      help: "names have letters, digits, ‘-’ and ‘_’"
    )
    return false
  }

  private func values(_ node: YAMLNode, axis: String) -> [String] {
    guard case .list(let nodes) = node.content else {
      findings.add(
        "the axis ‘\(axis)’ has a list of values, not \(node.kind)",
        at: node.place,
        help: "like ‘\(axis): [a, b]’"
      )
      return []
    }
    if nodes.isEmpty { findings.add("the axis ‘\(axis)’ has no values", at: node.place) }
    var seen: Set<String> = []
    let values = nodes.compactMap { node -> String? in
      guard let value = value(node, axis: axis) else { return nil }
      if seen.insert(value).inserted { return value }
      findings.add("the axis ‘\(axis)’ has the value ‘\(value.excerpt())’ twice", at: node.place)
      return nil
    }
    return values.count == nodes.count ? values : []
  }

  private func value(_ node: YAMLNode, axis: String) -> String? {
    guard let text = fields.text(node, "a value of the axis ‘\(axis)’") else { return nil }
    guard text.text.unicodeScalars.allSatisfy(\.isPrintable) else {
      findings.add("a value of the axis ‘\(axis)’ isn’t a line of text", at: node.place)
      return nil
    }
    guard !text.text.contains("${{") else {
      findings.add("a value of the axis ‘\(axis)’ can’t have places", at: node.place)
      return nil
    }
    return text.text
  }
}
