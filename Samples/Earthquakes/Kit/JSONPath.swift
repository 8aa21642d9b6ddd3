import TerminalSupport

/// A position in a JSON array, as a coding key.
struct JSONIndex: CodingKey {
  let index: Int

  init(_ index: Int) {
    self.index = index
  }

  init?(intValue: Int) {
    self.init(intValue)
  }

  init?(stringValue: String) {
    nil
  }

  var intValue: Int? { index }

  var stringValue: String { "Index \(index)" }
}

/// A place in a JSON document, written as in JavaScript: `features[3].properties.time`.
///
/// It is for people, so it is short, however deep the document and however long its keys: of a path
/// of many steps the middle is left out, and the same goes for keys.
struct JSONPath {
  enum Step {
    case key(String)
    case index(Int)
  }

  /// How many steps are written at the beginning and at the end.
  private static let ends = (first: 6, last: 4)

  private static let longestKey = 40

  let description: String

  init(_ steps: some BidirectionalCollection<Step>) {
    let count = steps.count
    guard count > Self.ends.first + Self.ends.last else {
      description = Self.text(steps)
      return
    }
    description =
      Self.text(steps.prefix(Self.ends.first)) + "…" + Self.text(steps.suffix(Self.ends.last))
  }

  private static func text(_ steps: some Sequence<Step>) -> String {
    steps.reduce(into: "") { path, step in
      switch step {
      case .index(let index): path += "[\(index)]"
      case .key(let key):
        path += (path.isEmpty ? "" : ".") + key.printable().cutInside(to: longestKey)
      }
    }
  }
}

extension [any CodingKey] {
  /// The path as JavaScript writes it.
  var written: String {
    JSONPath(map { $0.intValue.map(JSONPath.Step.index) ?? .key($0.stringValue) }).description
  }
}
