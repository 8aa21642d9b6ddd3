import TerminalSupport

/// The name that somebody meant, as far as one can guess.
enum Nearest {
  /// The nearest of some names: equal but for case, one that begins so, or with few letters changed.
  ///
  /// - Returns: nil if none is near.
  static func name(to name: String, among names: [String]) -> String? {
    let wanted = name.lowercased()
    let longer = wanted.count > 1 ? names.first { $0.lowercased().hasPrefix(wanted) } : nil
    return longer ?? NearestName.nearest(to: name, among: names)
  }
}
