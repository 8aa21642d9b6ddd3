/// Where something comes from, in the words that people read above or before it.
enum FailureHeading: Hashable {
  case step(OperationFailure.Origin.Step)
  case cancelled
  case timedOut
  case skipped
  case rollback
  case helper(String)
  /// The middle of a long way.
  case more(Int)

  var text: String {
    switch self {
    case .step(let step): step.text
    case .cancelled: "cancelled"
    case .timedOut: "timed out"
    case .skipped: "skipped"
    case .rollback: "rollback"
    case .helper(let name): "its helper “\(name)”"
    case .more(let count): "… \(count) more …"
    }
  }

  /// The step that it is; nil for others.
  var step: OperationFailure.Origin.Step? {
    guard case .step(let step) = self else { return nil }
    return step
  }

  /// How many headings it stands for.
  fileprivate var count: Int {
    switch self {
    case .more(let count): count
    case .step, .cancelled, .timedOut, .skipped, .rollback, .helper: 1
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
      guard let (name, next) = failure.elements.onlyDependency else { break }
      append(.step(.dependency(name)))
      failure = next
    }
    append(.more(way.count - 6))
    append(.step(.dependency(way.last)))
    return way.end
  }
}
