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

extension [any CodingKey] {
  /// The path as JavaScript writes it: `features[3].properties.time`.
  var written: String {
    reduce(into: "") { path, key in
      if let index = key.intValue {
        path += "[\(index)]"
      } else {
        path += path.isEmpty ? key.stringValue : ".\(key.stringValue)"
      }
    }
  }
}
