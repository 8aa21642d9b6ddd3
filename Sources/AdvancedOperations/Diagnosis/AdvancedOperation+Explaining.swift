import CoreOperations

extension AdvancedOperation {
  /// Why the operation isn't running, or doesn't go on.
  ///
  /// Follows what it waits for from operation to operation, across queues, to what is at the root
  /// of it. Can be called at any time from any thread; user code (names) is called without a lock
  /// held.
  ///
  /// ```swift
  /// if store.state < .executing { print(store.explain()) }
  /// ```
  ///
  /// - Returns: A value that doesn't change any more.
  /// - Complexity: O(v + e), v the number of operations that are in the way and e that of their
  ///   waits.
  public final func explain() -> OperationExplanation {
    let search = ExplanationSearch(from: [self])
    let causes = search.causes(of: self)
    let roots = search.roots()
    let path = roots.first.map { search.path(to: $0) } ?? []
    let name = label
    if let outcome, isFinished {
      let source = textOfSource
      return OperationExplanation(
        subject: "\(name) is finished",
        causes: causes,
        path: path,
        rootCauses: roots.map(\.cause),
        lines: "\(name) has finished: \(outcome)\(source)".split(separator: "\n").map(String.init)
      )
    }
    let wasCancelled = isCancelled && outcome == nil
    let begin = wasCancelled ? "\(name) was cancelled, and" : name
    return OperationExplanation(
      subject: "\(name) is \(wasCancelled ? "cancelled, " : "")\(state.words)",
      causes: causes,
      path: path,
      rootCauses: roots.map(\.cause),
      lines: Self.lines(begin, causes, path) + roots.neededLine
    )
  }

  private static func lines(
    _ begin: String,
    _ causes: [OperationExplanation.Cause],
    _ path: [OperationExplanation.Cause]
  ) -> [String] {
    var lines = ["\(begin) \(causes.map(\.text).joined(separator: "; "))"]
    // A ring that the operation itself is in isn't among its own causes.
    let way = path.first?.kind == .ring ? path[...] : path.dropFirst()
    if way.count > 12 {
      lines += way.prefix(6).map { "  \($0)" }
      lines.append("  … \(way.count - 11) more …")
      lines += way.suffix(5).map { "  \($0)" }
    } else {
      lines += way.map { "  \($0)" }
    }
    return lines
  }
}

extension [ExplanationSearch.Root] {
  /// What has to happen, each thing once.
  var neededLine: [String] {
    var seen: Set<String> = []
    let remedies = compactMap(\.cause.remedy).filter { seen.insert($0).inserted }
    if remedies.isEmpty { return [] }
    let rest = remedies.count > 4 ? "; and \(remedies.count - 4) more" : ""
    return ["needed: \(remedies.prefix(4).joined(separator: "; "))\(rest)"]
  }
}

extension AdvancedOperation.State {
  fileprivate var words: String {
    switch self {
    case .evaluatingConditions: "evaluating conditions"
    case .pending, .ready, .executing, .finishing, .finished: "\(self)"
    }
  }
}
