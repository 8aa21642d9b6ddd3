extension OutcomeExpression {
  /// Whether the expression holds.
  ///
  /// - Parameter outcome: How a step, by its `id`, ended; nil if it hasn't, or if there is none: it
  ///   has no outcome then, so that `failed(x)` doesn't hold and `!failed(x)` does.
  /// - Returns: Whether it holds.
  public func holds(_ outcome: (String) -> Outcome?) -> Bool {
    switch self {
    case .step(let id, let wanted): outcome(id) == wanted
    case .not(let inner): !inner.holds(outcome)
    case .and(let one, let other): one.holds(outcome) && other.holds(outcome)
    case .or(let one, let other): one.holds(outcome) || other.holds(outcome)
    }
  }

  /// The ids of the steps that it names, in order, each once.
  public var steps: [String] {
    var ids: [String] = []
    var seen: Set<String> = []
    collect { id, _ in if seen.insert(id).inserted { ids.append(id) } }
    return ids
  }

  /// Calls a function for each step that it names.
  func collect(_ body: (String, Outcome) -> Void) {
    switch self {
    case .step(let id, let outcome): body(id, outcome)
    case .not(let inner): inner.collect(body)
    case .and(let one, let other), .or(let one, let other):
      one.collect(body)
      other.collect(body)
    }
  }

  /// The expression with the combinations of steps instead of their names in the file.
  func expanded(_ ids: (String) -> [String]) -> OutcomeExpression {
    switch self {
    case .step(let name, let outcome): Self.combined(ids(name)[...], outcome) ?? self
    case .not(let inner): .not(inner.expanded(ids))
    case .and(let one, let other): .and(one.expanded(ids), other.expanded(ids))
    case .or(let one, let other): .or(one.expanded(ids), other.expanded(ids))
    }
  }

  /// All of the steps have succeeded, or any of them has another outcome; nil for no step.
  ///
  /// Halves of halves, so that a thousand combinations are ten levels deep.
  static func combined(_ ids: ArraySlice<String>, _ outcome: Outcome) -> OutcomeExpression? {
    guard let first = ids.first else { return nil }
    guard ids.count > 1 else { return .step(first, is: outcome) }
    let middle = ids.startIndex + ids.count / 2
    guard let one = combined(ids[..<middle], outcome), let other = combined(ids[middle...], outcome)
    else { return nil }
    return outcome == .succeeded ? .and(one, other) : .or(one, other)
  }
}
