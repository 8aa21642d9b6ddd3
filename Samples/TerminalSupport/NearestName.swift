/// Finds the name that was meant where another one is written.
package enum NearestName {
  /// More names than this are not compared, so that a large file with many mistakes stays quick.
  private static let limit = 20_000

  /// The name that a misspelt one is closest to, if it is close.
  ///
  /// - Complexity: The number of names times the square of a name's length.
  package static func nearest(to name: String, among names: some Sequence<String>) -> String? {
    let wanted = Array(name.lowercased().unicodeScalars)
    guard wanted.count <= 100 else { return nil }
    // None of two letters, one of up to five, a third of a long name.
    var best: (name: String, distance: Int)?
    for candidate in names.prefix(limit) {
      let letters = Array(candidate.lowercased().unicodeScalars)
      let length = max(wanted.count, letters.count)
      let most = min(best.map { $0.distance - 1 } ?? .max, length < 3 ? 0 : max(1, length / 3))
      guard abs(letters.count - wanted.count) <= most, letters.count <= 100 else { continue }
      let distance = distance(wanted, letters)
      if distance <= most { best = (candidate, distance) }
    }
    return best?.name
  }

  /// “did you mean ‘build’?”, if a name is close.
  package static func help(for name: String, among names: some Sequence<String>) -> String? {
    nearest(to: name, among: names).map { "did you mean ‘\($0.excerpt())’?" }
  }

  /// How many letters have to be put in, left out, changed, or swapped with their neighbour.
  package static func distance<Letter: Equatable>(_ one: [Letter], _ other: [Letter]) -> Int {
    guard !one.isEmpty, !other.isEmpty else { return max(one.count, other.count) }
    var beforeLast: [Int] = []
    var last = Array(0...other.count)
    for row in 1...one.count {
      var current = [row] + Array(repeating: 0, count: other.count)
      for column in 1...other.count {
        let cost = one[row - 1] == other[column - 1] ? 0 : 1
        current[column] = min(
          last[column] + 1,
          current[column - 1] + 1,
          last[column - 1] + cost
        )
        if row > 1, column > 1, one[row - 1] == other[column - 2],
          one[row - 2] == other[column - 1]
        {
          current[column] = min(current[column], beforeLast[column - 2] + 1)
        }
      }
      beforeLast = last
      last = current
    }
    return last[other.count]
  }
}
