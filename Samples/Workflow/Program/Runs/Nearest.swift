import TerminalSupport

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
      let distance = NearestName.distance(Array(wanted), Array(candidate.lowercased()))
      return distance <= limit ? (distance, candidate) : nil
    }
    return near.min { $0.0 < $1.0 }?.1
  }
}
