/// A value of YAML with its place; aliases and merge keys are resolved.
struct YAMLNode: Sendable {
  /// What a value can be.
  enum Content: Sendable {
    /// A text as it is written: `no`, `1.10` and `0x10` stay what they are.
    case text(String, isPlain: Bool)
    /// Values in order.
    case list([YAMLNode])
    /// Keys and their values, in order; no key occurs twice.
    case map([YAMLEntry])
  }

  /// What it is.
  var content: Content
  /// Where it begins; what an alias stands for begins where its anchor is.
  var place: Place

  /// Whether nothing is written here, or `null`.
  var isEmpty: Bool {
    guard case .text(let text, isPlain: true) = content else { return false }
    return ["", "~", "null", "Null", "NULL"].contains(text)
  }

  /// What it is, for a sentence: “a list”.
  var kind: String {
    if isEmpty { return "nothing" }
    return switch content {
    case .text: "a text"
    case .list: "a list"
    case .map: "keys with values"
    }
  }
}

/// A key and its value.
struct YAMLEntry: Sendable {
  /// The key's text.
  var key: String
  /// Where the key begins.
  var place: Place
  /// What it has.
  var value: YAMLNode
}
