import TerminalSupport
import Yams

/// Makes values of the parser's nodes: resolves aliases and merge keys, finds repeated keys.
struct YAMLConversion {
  /// How deep values may be in each other.
  static let depthLimit = 40
  /// How many values aliases may stand for in all.
  static let expansionLimit = 1_000_000

  /// What the text was disguised with.
  let disguise: YAMLDisguise
  /// Mistakes so far.
  private(set) var mistakes: [Diagnostic] = []
  /// What has an anchor, with the number of its values, and how deep they are in each other.
  private var anchors: [String: (node: YAMLNode, size: Int, height: Int)] = [:]
  /// The greatest depth since the value that is converted began.
  private var reach = 0
  /// How many values have been made, those of aliases as often as they occur.
  private var size = 0
  /// How many of them are those of aliases.
  private var expanded = 0
  /// Whether they would be too many.
  private var isTooLarge = false

  /// Begins a conversion.
  init(disguise: YAMLDisguise) { self.disguise = disguise }

  /// Converts a node.
  ///
  /// - Returns: The value; an empty one where a mistake was found.
  mutating func node(_ node: Node, depth: Int) -> YAMLNode {
    let place = Place(line: node.mark?.line ?? 1, column: node.mark?.column ?? 1)
    let nothing = YAMLNode(content: .text("", isPlain: true), place: place)
    guard depth <= Self.depthLimit else {
      add("values are nested more than \(Self.depthLimit) deep", at: place)
      return nothing
    }
    let sizeBefore = size
    let reachBefore = reach
    size += 1
    reach = depth
    defer { reach = max(reach, reachBefore) }
    var result = nothing
    switch node {
    case .scalar(let scalar):
      check(scalar.tag, at: place)
      let isPlain = scalar.style == .plain
      if isPlain, scalar.string.unicodeScalars.first == disguise.asterisk {
        return alias(disguise.original(scalar.string), at: place, depth: depth) ?? nothing
      }
      result.content = .text(disguise.original(scalar.string), isPlain: isPlain)
    case .sequence(let sequence):
      check(sequence.tag, at: place)
      result.content = .list(sequence.map { self.node($0, depth: depth + 1) })
    case .mapping(let mapping):
      check(mapping.tag, at: place)
      result.content = .map(entries(mapping, depth: depth + 1))
    case .alias: break
    }
    if let anchor = node.anchor {
      anchors[anchor.rawValue] = (result, size - sizeBefore, reach - depth)
    }
    return result
  }

  /// Keys and values, with those of merge keys where the map has none of its own.
  private mutating func entries(_ mapping: Node.Mapping, depth: Int) -> [YAMLEntry] {
    var entries: [YAMLEntry] = []
    var places: [String: Place] = [:]
    var merged: [YAMLEntry] = []
    for (keyNode, valueNode) in mapping {
      let key = node(keyNode, depth: depth)
      let value = node(valueNode, depth: depth)
      guard case .text(let name, let isPlain) = key.content else {
        add("a key is a text, not \(key.kind)", at: key.place)
        continue
      }
      if name == "<<", isPlain {
        merged += entriesToMerge(value)
      } else if let first = places[name] {
        add("the key ‘\(name)’ occurs twice; first in line \(first.line)", at: key.place)
      } else {
        places[name] = key.place
        entries.append(YAMLEntry(key: name, place: key.place, value: value))
      }
    }
    for entry in merged where places.updateValue(entry.place, forKey: entry.key) == nil {
      entries.append(entry)
      expanded += 1
    }
    return entries
  }

  private mutating func entriesToMerge(_ value: YAMLNode) -> [YAMLEntry] {
    switch value.content {
    case .map(let entries): return entries
    case .list(let values):
      return values.flatMap { value -> [YAMLEntry] in
        if case .map(let entries) = value.content { return entries }
        add("‘<<’ takes keys with values, not \(value.kind)", at: value.place)
        return []
      }
    case .text:
      if mistakes.last?.line == value.place.line, mistakes.last?.column == value.place.column {
        return []
      }
      add("‘<<’ takes keys with values, not \(value.kind)", at: value.place)
      return []
    }
  }

  /// What an alias stands for.
  private mutating func alias(_ text: String, at place: Place, depth: Int) -> YAMLNode? {
    let name = text.dropFirst()
    let isName = name.utf8.allSatisfy { $0.isLetterOrDigit || $0 == 0x2D || $0 == 0x5F }
    guard isName, !name.isEmpty else {
      add(
        "‘\(text.excerpt())’ begins with ‘*’, which makes it an alias in YAML",
        at: place,
        help: "put it in quotes"
      )
      return nil
    }
    guard let (node, count, height) = anchors[String(name)] else {
      let near = NearestName.help(for: String(name), among: anchors.keys.sorted())
      add(
        "the alias ‘\(text)’ has no anchor ‘&\(name)’ before it",
        at: place,
        help: near ?? "if it is a text, put it in quotes"
      )
      return nil
    }
    guard depth + height <= Self.depthLimit else {
      add("values are nested more than \(Self.depthLimit) deep", at: place)
      return nil
    }
    reach = max(reach, depth + height)
    guard expanded <= Self.expansionLimit - count else {
      if !isTooLarge {
        add("aliases stand for more than \(Self.expansionLimit) values here", at: place)
      }
      isTooLarge = true
      return nil
    }
    expanded += count
    size += count
    return node
  }

  private mutating func check(_ tag: Tag, at place: Place) {
    switch Tag.Name(rawValue: tag.rawValue) {
    case .implicit, .nonSpecific, .str, .int, .float, .bool, .null, .map, .seq: break
    case let name:
      add(
        "‘\(disguise.original(name.rawValue).excerpt())’ is a tag of YAML, which has no meaning here",
        at: place,
        help: "if it is a text, put all of it in quotes"
      )
    }
  }

  private mutating func add(_ message: String, at place: Place, help: String? = nil) {
    mistakes.append(
      Diagnostic(line: place.line, column: place.column, message: message, suggestion: help)
    )
  }
}

extension UInt8 {
  /// Whether it is a letter or digit of ASCII.
  package var isLetterOrDigit: Bool {
    switch self {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
    default: false
    }
  }
}
