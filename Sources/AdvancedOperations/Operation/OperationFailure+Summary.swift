extension OperationFailure {
  /// What went wrong, on one line: each error with where it came from.
  ///
  /// ```swift
  /// logger.error("\(operation.name ?? "") failed: \(failure.summary())")
  /// ```
  ///
  /// - Parameter limit: How many errors are spelt out; the others are counted.
  /// - Returns: The line, without a line break.
  public func summary(limit: Int = 3) -> String {
    var parts = elements.prefix(max(limit, 0)).map(\.inOneLine)
    if elements.count > parts.count { parts.append("\(elements.count - parts.count) more errors") }
    if elements.isEmpty { parts.append("cancelled without a reason") }
    if notRunCount > 0 { parts.append("\(notRunCount) not run because of it") }
    return parts.joined(separator: "; ")
  }
}

extension OperationFailure.Element {
  fileprivate var inOneLine: String {
    let underlying = (error as? OperationConditionError)?.underlying ?? error
    return (origin.headings + [underlying.inOneLine]).joined(separator: ": ")
  }
}

extension OperationFailure.Origin {
  fileprivate var headings: [String] {
    switch self {
    case .body, .cancel: []
    case .condition(let name): ["condition “\(name)”"]
    case .dependency(let name): ["dependency “\(name)”"]
    case .child(let name, let inner): ["child “\(name)”"] + inner.headings
    case .attempt(let number, let inner): ["attempt \(number)"] + inner.headings
    case .timeout: ["timed out"]
    case .skipped: ["skipped"]
    }
  }
}

extension Error {
  /// What it says, on one line.
  var inOneLine: String { (self as? OperationFailure)?.summary() ?? "\(self)".inOneLine }
}

extension String {
  /// The lines without indentation, one after the other.
  var inOneLine: String {
    guard contains(where: \.isNewline) else { return self }
    return split(whereSeparator: \.isNewline)
      .map { $0.drop { $0.isWhitespace } }
      .joined(separator: " ")
  }
}
