extension OperationFailure {
  /// What went wrong, on one line: each error with where it came from.
  ///
  /// Shows the two ends of a long chain of dependencies, and the first few errors of each failure
  /// that is inside of another one. What several dependencies have in common is spelt out once.
  ///
  /// ```swift
  /// logger.error("\(operation.name ?? "") failed: \(failure.summary())")
  /// ```
  ///
  /// - Parameter limit: How many errors are spelt out; the others are counted.
  /// - Returns: The line, without a line break.
  public func summary(limit: Int = 3) -> String {
    var shown: Set<ObjectIdentifier> = []
    // Names may have line breaks too.
    return summary(limit: limit, levels: 4, &shown).inOneLine
  }

  // Of failures with several errors, so many levels are written inside of each other.
  fileprivate func summary(limit: Int, levels: Int, _ shown: inout Set<ObjectIdentifier>) -> String
  {
    var way: [FailureHeading] = []
    if limit > 0, let end = way.appendLongWay(of: self) {
      let isNew = end.isNew(among: &shown)
      let text = isNew ? end.summary(limit: limit, levels: levels, &shown) : "as above"
      return (way.texts + [text]).joined(separator: ": ")
    }
    let elements = elements
    var parts = elements.prefix(max(limit, 0)).map { $0.inOneLine(levels: levels, &shown) }
    let more = elements.count - parts.count
    if more > 0 { parts.append("\(more) more \(more == 1 ? "error" : "errors")") }
    parts += elements.flatMap { $0.gaps.map(\.text) + $0.ends.map(\.text) }
    if elements.isEmpty { parts.append("cancelled without a reason") }
    if let remark = remarkOnOthers { parts.append(remark) }
    return parts.joined(separator: "; ")
  }

  /// What is said of operations that didn't run; nil without any.
  var remarkOnOthers: String? {
    switch notRunCount {
    case ...0: nil
    case 1: "1 other did not run"
    default: "\(notRunCount) others did not run"
    }
  }
}

extension OperationFailure.Element {
  fileprivate func inOneLine(levels: Int, _ shown: inout Set<ObjectIdentifier>) -> String {
    var headings: [FailureHeading] = []
    var element = self
    while true {
      headings += element.origin.path.map { .step($0) }
      switch element.origin.cause {
      case .timeout: headings.append(.timedOut)
      case .skipped: headings.append(.skipped)
      case .body where element.isOfRollback: headings.append(.rollback)
      case .body, .condition, .dependency, .cancel: break
      }
      let error = (element.error as? OperationConditionError)?.underlying ?? element.error
      guard var failure = error.innerFailure else {
        let prerequisites = element.prerequisites.map { name, failure in
          let text = failure.summary(limit: 1, levels: levels - 1, &shown)
          return " (\(FailureHeading.prerequisite(name).text): \(text))"
        }
        let text = "\(error)".inOneLine + prerequisites.joined()
        return (headings.texts + [text]).joined(separator: ": ")
      }
      if let owner = failure.ownerStep(after: headings.last) { headings.append(.step(owner)) }
      failure = headings.appendLongWay(of: failure) ?? failure
      guard failure.isNew(among: &shown) else {
        return (headings.texts + ["as above"]).joined(separator: ": ")
      }
      let elements = failure.elements
      guard elements.count == 1, failure.notRunCount == 0, elements[0].ends.isEmpty else {
        let text = failure.summary(limit: levels > 0 ? 3 : 0, levels: levels - 1, &shown)
        return (headings.texts + [text]).joined(separator: ": ")
      }
      element = elements[0]
    }
  }
}

extension Error {
  /// What it says, on one line.
  var inOneLine: String { (self as? OperationFailure)?.summary() ?? "\(self)".inOneLine }
}

extension String {
  /// The lines without indentation, one after the other.
  package var inOneLine: String {
    guard contains(where: \.isNewline) else { return self }
    return split(whereSeparator: \.isNewline)
      .map { $0.drop { $0.isWhitespace } }
      .joined(separator: " ")
  }
}

/// Where something comes from, in the words that people read above or before it.
enum FailureHeading: Hashable {
  case step(OperationFailure.Origin.Step)
  case cancelled
  case timedOut
  case skipped
  case rollback
  case prerequisite(String)
  /// The middle of a long way.
  case more(Int)

  var text: String {
    switch self {
    case .step(let step): "\(step)"
    case .cancelled: "cancelled"
    case .timedOut: "timed out"
    case .skipped: "skipped"
    case .rollback: "rollback"
    case .prerequisite(let name): "its prerequisite “\(name)”"
    case .more(let count): "… \(count) more …"
    }
  }

  /// How many headings it stands for.
  fileprivate var count: Int {
    switch self {
    case .more(let count): count
    case .step, .cancelled, .timedOut, .skipped, .rollback, .prerequisite: 1
    }
  }
}

extension [FailureHeading] {
  /// All of a short way, or its two ends with the number of what is between them.
  var texts: [String] {
    if count <= 12 { return map(\.text) }
    let hidden = dropFirst(6).dropLast(5).reduce(0) { $0 + $1.count }
    return prefix(6).map(\.text) + [Element.more(hidden).text] + suffix(5).map(\.text)
  }

  /// Adds the chain along which a failure was inherited, if that is long, with no more than is
  /// shown.
  ///
  /// - Returns: The failure at its end; nil if it isn't long.
  mutating func appendLongWay(of failure: OperationFailure) -> OperationFailure? {
    guard let way = failure.way, way.count > 12 else { return nil }
    var failure = failure
    for _ in 0..<5 {
      guard let (label, next) = failure.elements.onlyDependency else { break }
      append(.step(.dependency(label)))
      failure = next
    }
    append(.more(way.count - 6))
    append(.step(.dependency(way.last)))
    return way.end
  }
}
