/// The name that somebody meant, as far as one can guess.
enum Nearest {
  /// The nearest of some names: equal but for case, one that begins so, or with few letters changed.
  ///
  /// - Returns: nil if none is near.
  static func name(to name: String, among names: [String]) -> String? {
    let wanted = name.lowercased()
    if let same = names.first(where: { $0.lowercased() == wanted }) { return same }
    if wanted.count > 1, let longer = names.first(where: { $0.lowercased().hasPrefix(wanted) }) {
      return longer
    }
    let limit = max(wanted.count / 3, 1)
    let near = names.prefix(10_000).compactMap { candidate -> (Int, String)? in
      // What differs more in length differs more.
      guard abs(candidate.count - wanted.count) <= limit else { return nil }
      let distance = distance(Array(wanted), Array(candidate.lowercased()))
      return distance <= limit ? (distance, candidate) : nil
    }
    return near.min { $0.0 < $1.0 }?.1
  }

  /// How many letters have to be inserted, removed, replaced or swapped with their neighbour.
  private static func distance(_ one: [Character], _ other: [Character]) -> Int {
    var before: [Int] = []
    var last = Array(0...other.count)
    for (row, letter) in one.enumerated() {
      var next = [row + 1]
      for (column, candidate) in other.enumerated() {
        var best = last[column] + (letter == candidate ? 0 : 1)
        best = min(best, last[column + 1] + 1, next[column] + 1)
        if row > 0, column > 0, letter == other[column - 1], one[row - 1] == candidate {
          best = min(best, before[column - 1] + 1)
        }
        next.append(best)
      }
      (before, last) = (last, next)
    }
    return last[other.count]
  }
}
