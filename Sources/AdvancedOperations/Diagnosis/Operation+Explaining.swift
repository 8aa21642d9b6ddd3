public import CoreOperations

extension Operation {
  /// Explains why the operation isn't running, or doesn't continue.
  ///
  /// The explanation follows the waits from operation to operation, across queues, to the root causes. You
  /// can call the method at any time from any thread. It calls code of the program, such as an override of
  /// `name`, without a lock held.
  ///
  /// ```swift
  /// if store.state < .executing { print(store.explain()) }
  /// ```
  ///
  /// The method explains every operation, including a ``BlockOperation``. An ``AdvancedOperation`` provides
  /// more information.
  ///
  /// - Returns: The explanation as a value, which doesn't change any more.
  /// - Complexity: O(v + e), v the number of operations that are in the way and e the number of their waits.
  public final func explain() -> OperationExplanation {
    let search = ExplanationSearch(from: [self])
    let causes = search.causes(of: [self], limit: .max)
    let roots = search.roots(limit: .max).roots
    let path = roots.first.map { search.path(to: $0) } ?? []
    let state = describedState
    return OperationExplanation(
      subject: "\(label) is \(state.words)",
      causes: causes,
      path: path,
      rootCauses: roots.map(\.cause),
      lines: state.end.map { "\(label) has finished\($0)".split(separator: "\n").map(String.init) }
        ?? lines(state.wasCancelled ? "\(label) was cancelled, and" : label, causes, path)
        + roots.neededLine
    )
  }

  /// The state of the operation in words, whether it was cancelled before its outcome, and the text about its
  /// end.
  private final var describedState: (words: String, wasCancelled: Bool, end: String?) {
    guard let advanced = self as? AdvancedOperation else {
      let state = stateOfPlain
      let isOver = state == .finished && !hasUnreportedEnd
      let prefix = isCancelled && !isOver ? "cancelled, " : ""
      return ("\(prefix)\(state)", isCancelled, isOver ? endInWords : nil)
    }
    let outcome = advanced.outcome
    if let outcome, isFinished {
      return ("finished", false, "\(advanced.remarkOfEnd): \(outcome)\(advanced.textOfSource)")
    }
    let wasCancelled = isCancelled && outcome == nil
    return ((wasCancelled ? "cancelled, " : "") + advanced.state.words, wasCancelled, nil)
  }

  private final func lines(
    _ begin: String,
    _ causes: [OperationExplanation.Cause],
    _ path: [OperationExplanation.Cause]
  ) -> [String] {
    var lines = ["\(begin) \(causes.map(\.text).joined(separator: "; "))"]
    // The first cause on the path is left out, because the first line contains it. A cycle isn't in the first
    // line.
    let way = path.first?.kind == .cycle ? path[...] : path.dropFirst()
    let home = homeQueue
    func line(_ cause: OperationExplanation.Cause) -> String {
      "  \(cause.line(seenFrom: home))"
    }
    if let remark = (self as? AdvancedOperation)?.remarkOfCallers { lines.append("  \(remark)") }
    if way.count > 12 {
      lines += way.prefix(6).map(line)
      lines.append("  … \(way.count - 11) more …")
      lines += way.suffix(5).map(line)
    } else {
      lines += way.map(line)
    }
    return lines
  }
}

extension AdvancedOperation {
  /// The remark about callers who share the operation; nil if there are none.
  fileprivate final var remarkOfCallers: String? { withCore({ $0.extra?.remark })?() }
}

extension Operation {
  /// The queue of the operation, or the queue of its outermost group.
  package final var homeQueue: OperationQueue? {
    var outermost = self
    while let parent = (outermost as? AdvancedOperation)?.parent { outermost = parent }
    return outermost.containingQueue
  }
}

extension OperationExplanation.Cause {
  /// A line of text about the cause.
  ///
  /// - Parameters:
  ///   - home: The queue that is explained, or the queue of the explained operation; nil if the operation
  ///     isn't in a queue.
  ///   - namesQueue: Whether the line names queues even if `home` is nil.
  /// - Returns: The names of the waiting operations, with their queues if these aren't `home`, and the cause.
  func line(seenFrom home: OperationQueue?, namesQueue: Bool = false) -> String {
    func end(_ name: String, _ operation: Operation) -> String {
      // The text of a cause about a queue already names the queue.
      guard kind.traits.scope != .queue, namesQueue || home != nil,
        let queue = operation.homeQueue, queue !== home
      else { return name }
      let other = home == nil ? "an unnamed queue" : "another queue"
      return "\(name) (in \(queue.givenName.map { "queue “\($0)”" } ?? other))"
    }
    if operations.count == 1 { return "\(end(name, operation)) \(text)" }
    // Operations of many groups may have the same name.
    var seen: Set<String> = []
    let others = operations.dropFirst().map { (name: $0.label, operation: $0) }
    let named = ([(name, operation)] + others).filter { seen.insert($0.name).inserted }
    let ends = named.prefix(5).map { end($0.name, $0.operation) } + named.dropFirst(5).map(\.name)
    return "\(operations.count) operations (\(ends.briefList)): each \(text)"
  }
}

extension [ExplanationSearch.Root] {
  /// The line with the remedies, each of them once; empty if there are none.
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

extension OperationQueue {
  /// Explains what the queue does, and why its operations wait.
  ///
  /// The text has a line for the queue, and a line for each root cause with the number of operations that
  /// wait because of it. An operation that is executing is a root cause.
  ///
  /// ```swift
  /// print(queue.explain())
  /// // queue “main” (limit 2): 8 operations, 1 executing
  /// //   backup has been executing for 3.2 s (7 wait: store, index, report, mail and 3 more)
  /// // needed: backup has to finish (its async body may be waiting for a timer, …)
  /// ```
  ///
  /// - Returns: The explanation as a value, which doesn't change any more.
  /// - Complexity: O(v + e), v the number of operations in the queue and in the way of these, and e the
  ///   number of their waits.
  public final func explain() -> OperationExplanation { explanation(limit: .max) }

  /// Explains why operations of the queue wait, with a limited number of causes.
  ///
  /// Operations that wait for the same reason have one cause, which counts them. Only causes up to the limit
  /// get a text. Use this method if a page or an alarm explains a queue of thousands of operations again and
  /// again:
  ///
  /// ```swift
  /// print(orders.explain(limit: 1))
  /// // queue “orders”: 4 operations, 0 executing
  /// //   payment isn't in a queue (3 wait: pack, bill, ship)
  /// //   … and 1 more cause
  /// // needed: payment has to be added to a queue
  /// ```
  ///
  /// With a limit, the search for a cycle covers the ways to these causes and the operations that have no
  /// other cause. `explain()` covers all operations.
  ///
  /// - Parameter limit: The largest number of causes in ``OperationExplanation/causes``, in
  ///   ``OperationExplanation/rootCauses``, and in the text.
  /// - Returns: The explanation as a value, which doesn't change any more.
  /// - Precondition: The limit is at least 1.
  /// - Complexity: O(v + e), v the number of operations in the queue and in the way of these, and e the
  ///   number of their waits.
  public final func explain(limit: Int) -> OperationExplanation {
    if limit < 1 {
      trap(
        "explain(limit:) was called on the queue “\(label)” with \(limit). Pass the number of causes that "
          + "you want to see, 1 or more."
      )
    }
    return explanation(limit: limit)
  }

  /// The name of the queue, and the settings that may keep its operations from starting.
  final var heading: String {
    let slots = maxConcurrentOperationCount
    let suspension = isSuspended ? "suspended" + (suspensionReason.map { ": \($0)" } ?? "") : nil
    let settings = [suspension, 0..<Int.max ~= slots ? "limit \(slots)" : nil]
      .compactMap { $0 }
    return "queue “\(label)”" + (settings.isEmpty ? "" : " (\(settings.joined(separator: ", ")))")
  }

  private final func explanation(limit: Int) -> OperationExplanation {
    let members = operations
    let search = ExplanationSearch(from: members)
    let found = search.roots(limit: limit)
    let path = found.roots.first.map { search.path(to: $0) } ?? []
    let executing = members.filter(\.isExecuting).count
    let subject = "\(heading): \(counted(members.count, "operation")), \(executing) executing"
    var lines = [subject]
    let shown = found.roots.prefix(limit == .max ? 12 : limit)
    for (root, waiting) in zip(
      shown,
      search.waiting(for: shown, among: members, search.backwardSearch)
    ) {
      lines.append("  \(root.cause.line(seenFrom: self))\(waiting.thatWait)")
    }
    let left = found.count - shown.count
    if left > 0 { lines.append("  … and \(counted(left, "more cause"))") }
    return OperationExplanation(
      subject: subject,
      causes: search.causes(of: members, limit: limit),
      path: path,
      rootCauses: found.roots.map(\.cause),
      lines: lines + found.roots.neededLine
    )
  }
}
