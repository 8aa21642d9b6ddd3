import TerminalSupport

/// Reads values of expected types, and notes where a value has another one.
struct FieldReader {
  /// Where mistakes go.
  let findings: Findings

  /// The known keys of a map with their values, in the order of the file.
  func fields<Key: RawRepresentable<String> & CaseIterable>(
    of node: YAMLNode,
    _ what: String,
    as keys: Key.Type
  ) -> [(key: Key, entry: YAMLEntry)] {
    guard case .map(let entries) = node.content else {
      findings.add(
        "\(what) has keys with values, not \(node.kind)",
        at: node.place,
        help: "keys are \(Self.list(Key.allCases.map(\.rawValue)))"
      )
      return []
    }
    var fields: [(key: Key, entry: YAMLEntry)] = []
    for entry in entries {
      if let key = Key(rawValue: entry.key) {
        fields.append((key, entry))
        continue
      }
      let names = Key.allCases.map(\.rawValue)
      let other = FileKeys.otherNames[entry.key].flatMap { names.contains($0) ? $0 : nil }
      findings.add(
        "\(what) has no key ‘\(entry.key.excerpt())’",
        at: entry.place,
        help: FileKeys.hints[entry.key] ?? other.map { "did you mean ‘\($0)’?" }
          ?? findings.help(for: entry.key, among: names) ?? "keys are \(Self.list(names))"
      )
    }
    return fields
  }

  /// The entries of a map with any keys.
  func entries(of node: YAMLNode, _ what: String, example: String) -> [YAMLEntry] {
    if case .map(let entries) = node.content { return entries }
    findings.add(
      "\(what) has keys with values, not \(node.kind)",
      at: node.place,
      help: "like \(example)"
    )
    return []
  }

  /// A text; nil with a mistake for anything else, and for none.
  func text(_ node: YAMLNode, _ what: String) -> Named? {
    guard case .text(let text, _) = node.content, !node.isEmpty else {
      findings.add("\(what) is a text, not \(node.kind)", at: node.place)
      return nil
    }
    guard !text.isEmpty else {
      findings.add("\(what) is empty", at: node.place)
      return nil
    }
    return Named(text: text, place: node.place)
  }

  /// A text, or a list of some.
  func texts(_ node: YAMLNode, _ what: String) -> [Named] {
    guard case .list(let nodes) = node.content else {
      if case .text = node.content { return text(node, what).map { [$0] } ?? [] }
      findings.add("\(what) is a text or a list of texts, not \(node.kind)", at: node.place)
      return []
    }
    return nodes.compactMap { text($0, what) }
  }

  /// A text as it was written, an empty one too.
  func anyText(_ node: YAMLNode, _ what: String) -> Named? {
    guard case .text(let text, _) = node.content else {
      findings.add("\(what) is a text, not \(node.kind)", at: node.place)
      return nil
    }
    return Named(text: text, place: node.place)
  }

  /// A text that a function makes a value of.
  func value<Value>(
    _ node: YAMLNode,
    _ what: String,
    _ parse: (String) throws(ValueProblem) -> Value
  ) -> Value? {
    guard let text = text(node, what) else { return nil }
    do throws(ValueProblem) {
      return try parse(text.text)
    } catch {
      findings.add(error, at: text.place)
      return nil
    }
  }

  /// A time that isn't none.
  func time(_ node: YAMLNode, _ what: String) -> Duration? {
    value(node, what) { (text) throws(ValueProblem) in
      let duration = try DurationText.duration(text)
      guard duration > .zero else { throw ValueProblem("\(what) has to be more than ‘\(text)’") }
      return duration
    }
  }

  /// `true` or `false`.
  func flag(_ node: YAMLNode, _ what: String) -> Bool? {
    value(node, what) { (text) throws(ValueProblem) in
      switch text.lowercased() {
      case "true", "yes", "on": return true
      case "false", "no", "off": return false
      default: throw ValueProblem("\(what) is ‘true’ or ‘false’, not ‘\(text.excerpt())’")
      }
    }
  }

  /// “‘a’, ‘b’ and ‘c’”.
  static func list(_ names: [String]) -> String {
    let quoted = names.map { "‘\($0.excerpt())’" }
    guard quoted.count > 1, let last = quoted.last else { return quoted.joined() }
    return quoted.dropLast().joined(separator: ", ") + " and " + last
  }
}
