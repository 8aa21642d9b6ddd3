/// Writes the name of a condition that is made of others.
enum ConditionName {
  private enum Piece {
    case text(String)
    case condition(any OperationCondition)
  }

  /// How many pieces are written; more than that is no name any more.
  private static let longest = 50

  static func of(_ parts: ConditionParts) -> String {
    var name = ""
    var due: [Piece] = pieces(of: parts).reversed()
    var count = 0
    while let piece = due.popLast() {
      count += 1
      if count > longest { return name + "…" }
      switch piece {
      case .text(let text): name += text
      case .condition(let condition):
        guard let parts = (condition as? any CompoundCondition)?.parts else {
          name += condition.name
          continue
        }
        due += pieces(of: parts).reversed()
      }
    }
    return name
  }

  private static func pieces(of parts: ConditionParts) -> [Piece] {
    switch parts.kind {
    case .silent: parts.conditions.map { .condition($0) }
    case .not: [.text("not ")] + parts.conditions.flatMap(inBrackets)
    case .all: list(parts.conditions, "and", empty: "nothing")
    case .any: list(parts.conditions, "or", empty: "none of nothing")
    }
  }

  private static func list(
    _ conditions: [any OperationCondition],
    _ word: String,
    empty: String
  ) -> [Piece] {
    if conditions.isEmpty { return [.text(empty)] }
    return Array(
      conditions.prefix(longest).map(inBrackets).joined(separator: [.text(" \(word) ")])
    )
  }

  /// A part that is itself made of several is in brackets.
  private static func inBrackets(_ condition: any OperationCondition) -> [Piece] {
    let count = (condition as? any CompoundCondition)?.parts.conditions.count ?? 1
    return count > 1
      ? [.text("("), .condition(condition), .text(")")] : [.condition(condition)]
  }
}
