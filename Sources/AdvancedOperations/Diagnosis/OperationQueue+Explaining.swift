public import CoreOperations

extension OperationQueue {
  /// What the queue does, and why what waits in it waits.
  ///
  /// The text has a line for the queue, one for what is executing, and one for each cause that is
  /// at the root of waits, with how many operations wait because of it.
  ///
  /// ```swift
  /// print(queue.explain())
  /// // queue “main” (limit 2): 8 operations, 1 executing
  /// //   backup has been executing for 3.2 s: 7 wait, store, index, report, mail and 3 more
  /// // needed: backup has to finish (its async body may be waiting for a timer, …)
  /// ```
  ///
  /// - Returns: A value that doesn't change any more.
  /// - Complexity: O(v + e), v the number of operations in the queue and in the way of those, and e
  ///   that of their waits.
  public final func explain() -> OperationExplanation {
    let members = operations
    let search = ExplanationSearch(from: members)
    let roots = search.roots()
    let path = roots.first.map { search.path(to: $0) } ?? []
    let executing = members.filter(\.isExecuting).count
    let limit = maxConcurrentOperationCount
    let settings = [isSuspended ? "suspended" : nil, 0..<Int.max ~= limit ? "limit \(limit)" : nil]
      .compactMap { $0 }
    let subject =
      "queue “\(label)”" + (settings.isEmpty ? "" : " (\(settings.joined(separator: ", ")))")
      + ": \(counted(members.count, "operation")), \(executing) executing"
    var lines = [subject]
    let groups = roots.groups
    for group in groups.prefix(12) {
      let waiting = search.waiting(for: group, among: members)
      let names = group.map { $0.cause.nameAndQueue(seenFrom: self) }
      let who = names.count == 1 ? names[0] : "\(names.count) operations (\(names.briefList)): each"
      let others =
        waiting.isEmpty
        ? "" : ": \(waiting.count) \(waiting.count == 1 ? "waits" : "wait"), \(waiting.names)"
      lines.append("  \(who) \(group[0].cause.text)\(others)")
    }
    if groups.count > 12 { lines.append("  … and \(groups.count - 12) more causes") }
    return OperationExplanation(
      subject: subject,
      causes: members.flatMap { search.causes(of: $0) },
      path: path,
      rootCauses: roots.map(\.cause),
      lines: lines + roots.neededLine
    )
  }
}
