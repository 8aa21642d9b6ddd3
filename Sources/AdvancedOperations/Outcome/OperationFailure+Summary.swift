extension OperationFailure {
  /// Returns the errors with their origins on one line.
  ///
  /// The line contains the two ends of a long chain of dependencies, and the first few errors of each nested
  /// failure. If several dependencies have the same failure, the failure is written once.
  ///
  /// ```swift
  /// logger.error("\(operation.name ?? "") failed: \(failure.summary())")
  /// ```
  ///
  /// - Parameter limit: The number of errors to write out. The line contains the number of other errors.
  /// - Returns: The line, without a line break.
  public func summary(limit: Int = 3) -> String {
    var shown: Set<ObjectIdentifier> = []
    // Names may contain line breaks, too.
    return summary(limit: limit, levels: 4, &shown).inOneLine
  }

  // The parameter `levels` limits the nesting of failures with several errors.
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

  /// The remark about operations that didn't run; nil if there are none.
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
  /// The text of the error, on one line.
  var inOneLine: String { (self as? OperationFailure)?.summary() ?? "\(self)".inOneLine }
}

extension String {
  /// The lines of the text without indentation, joined by spaces.
  package var inOneLine: String {
    guard contains(where: \.isNewline) else { return self }
    return split(whereSeparator: \.isNewline)
      .map { $0.drop { $0.isWhitespace } }
      .joined(separator: " ")
  }
}

/// A heading before an error, which names a part of its origin.
enum FailureHeading: Hashable {
  case step(OperationFailure.Origin.Step)
  case cancelled
  case timedOut
  case skipped
  case rollback
  case prerequisite(String)
  /// A number of omitted headings in the middle of a long path.
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

  /// The number of headings that the value represents.
  fileprivate var count: Int {
    switch self {
    case .more(let count): count
    case .step, .cancelled, .timedOut, .skipped, .rollback, .prerequisite: 1
    }
  }
}

extension [FailureHeading] {
  /// The texts of a short path, or the two ends of a long path with the number of headings between them.
  var texts: [String] {
    if count <= 12 { return map(\.text) }
    let hidden = dropFirst(6).dropLast(5).reduce(0) { $0 + $1.count }
    return prefix(6).map(\.text) + [Element.more(hidden).text] + suffix(5).map(\.text)
  }

  /// Adds the chain of dependencies along which a failure was inherited, if the chain is long, without its
  /// middle.
  ///
  /// - Returns: The failure at the end of the chain; nil if the chain isn't long.
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
