import TerminalSupport

/// Reads texts with places, and remembers what they refer to until all names are known.
struct TemplateReader {
  /// Reads the values.
  let fields: FieldReader
  /// What has been referred to so far.
  var references: [TemplateReference] = []

  init(_ fields: FieldReader) { self.fields = fields }

  /// Reads a text that isn't empty.
  mutating func template(_ node: YAMLNode, _ what: String) -> Template? {
    fields.text(node, what).map { template($0) }
  }

  /// Reads a text that may be empty.
  mutating func anyTemplate(_ node: YAMLNode, _ what: String) -> Template? {
    fields.anyText(node, what).map { template($0) }
  }

  /// Reads a text, or a list of some.
  mutating func templates(_ node: YAMLNode, _ what: String) -> [Template] {
    var templates: [Template] = []
    for text in fields.texts(node, what) { templates.append(template(text)) }
    if templates.isEmpty, case .list(let nodes) = node.content, nodes.isEmpty {
      fields.findings.add("\(what) is an empty list", at: node.place)
    }
    return templates
  }

  /// Reads the places of a text.
  mutating func template(_ text: Named) -> Template {
    let parser = TemplateParser(text.text)
    let findings = fields.findings
    for problem in parser.problems {
      findings.add(
        problem.problem,
        at: findings.place(ofOpening: problem.place, from: text.place, offset: problem.offset)
      )
    }
    if text.text.utf8.contains(0) {
      findings.add("a text has a character U+0000, which no program can be given", at: text.place)
    }
    var numbers = parser.numbers[...]
    for part in parser.parts {
      if case .text = part { continue }
      references.append(
        TemplateReference(part: part, start: text.place, number: numbers.removeFirst())
      )
    }
    return parser.template
  }

  /// Reads a command: a text for the shell, or a program with its arguments.
  mutating func command(_ node: YAMLNode, _ what: String) -> Command? {
    guard case .list(let nodes) = node.content else {
      guard case .text = node.content, !node.isEmpty else {
        fields.findings.add(
          "\(what) is a text or a list of texts, not \(node.kind)",
          at: node.place,
          help: "like ‘swift build’ or ‘[swift, build]’"
        )
        return nil
      }
      guard let text = fields.text(node, what) else { return nil }
      guard !text.text.allSatisfy(\.isWhitespace) else {
        fields.findings.add("\(what) is empty", at: node.place)
        return nil
      }
      let template = template(text)
      if let number = ShellText(template).unusablePlace {
        fields.findings.add(
          "a value can’t be put into a here-document whose end is in quotes",
          at: fields.findings.place(ofOpening: number, from: text.place, offset: 0),
          help: "write the word after ‘<<’ without quotes"
        )
      }
      return .shell(template)
    }
    guard let program = nodes.first else {
      fields.findings.add("\(what) is an empty list", at: node.place)
      return nil
    }
    guard let first = template(program, "the program of \(what)") else { return nil }
    var arguments = [first]
    for node in nodes.dropFirst() {
      if let argument = anyTemplate(node, "an argument of \(what)") { arguments.append(argument) }
    }
    return .arguments(arguments)
  }

  /// Reads variables.
  mutating func environment(_ node: YAMLNode) -> [String: Template] {
    var result: [String: Template] = [:]
    for entry in fields.entries(of: node, "‘env’", example: "‘env: {CI: yes}’") {
      if !ShellQuoting.isName(entry.key) {
        fields.findings.add(
          "‘\(entry.key.excerpt())’ can’t be the name of a variable",
          at: entry.place,
          help: "names have letters, digits and ‘_’, and begin with no digit"
        )
      } else if entry.key.hasPrefix("WORKFLOW_") {
        fields.findings.add(
          "variables that begin with ‘WORKFLOW_’ are set by the runner",
          at: entry.place
        )
      }
      if let value = value(ofVariable: entry) { result[entry.key] = value }
    }
    return result
  }

  /// Reads what a variable has, or is to have.
  mutating func value(ofVariable entry: YAMLEntry) -> Template? {
    let what = "the variable ‘\(entry.key.excerpt())’"
    // Nothing at all is an empty text, and this is what other readers take for no value.
    if entry.value.isEmpty, case .text(let text, _) = entry.value.content, !text.isEmpty {
      fields.findings.add(
        "\(what) has no value",
        at: entry.place,
        help: "an empty one is written ‘\(entry.key.excerpt()): \"\"’, this word ‘\"\(text)\"’"
      )
      return nil
    }
    return anyTemplate(entry.value, what)
  }
}
