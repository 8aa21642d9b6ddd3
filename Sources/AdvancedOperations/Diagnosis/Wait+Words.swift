import CoreOperations

extension Operation {
  /// Describes a wait of this operation.
  ///
  /// This method has the words for all kinds of waits.
  ///
  /// - Parameters:
  ///   - wait: The wait.
  ///   - now: The current time, for a claim that becomes available at a known time.
  ///   - duration: The duration of the wait for a claim, if it is known.
  /// - Returns: The words, and the operations that are the reason of the wait.
  final func finding(
    _ wait: Wait,
    at now: Duration = .zero,
    for duration: Duration? = nil
  ) -> Finding {
    let text = { wait.cause?.description ?? "" }
    let others = wait.operations
    switch wait.kind {
    case .enqueueing:
      return finding(.notEnqueued, text(), remedy: { "\($0) has to be added to a queue" })
    case .dependencies: return finding(.dependency, text(), next: others)
    case .resumption(let queue):
      return finding(
        .suspended,
        text(),
        remedy: { _ in "queue “\(queue.label)” has to be resumed" }
      )
    case .barrier:
      // If operations are before the barrier, they have their own remedies.
      let remedy = { (_: String) in "the barrier has to return" }
      return finding(.barrier, text(), remedy: others.isEmpty ? remedy : nil, next: others)
    case .slot(let queue, let limit):
      let remedy =
        limit == 0
        ? "the limit of queue “\(queue.label)” has to be raised"
        : others.isEmpty ? "the barrier of queue “\(queue.label)” has to return" : nil
      let isAgain = takesSlotAgain
      return finding(
        .limit,
        isAgain
          ? "waits to take its slot of queue “\(queue.label)” again, "
            + OperationWaitCause.reasonForNoSlot(limit: limit, holders: others)
          : text(),
        remedy: remedy.map { text in { _ in text } },
        next: others
      )
    case .readiness:
      return finding(
        .notReady,
        text(),
        remedy: { "isReady of \($0) has to turn true, and the change to be reported" }
      )
    case .worker(let queue):
      let remedy = { (_: String) in "the main thread has to be free" }
      return finding(.worker, text(), remedy: queue.runsOnMainThread ? remedy : nil)
    case .mainThread(let label):
      let remedy = { (_: String) in "the main thread has to await \(label) instead of blocking" }
      return finding(.mainThread, text(), remedy: remedy)
    case .code:
      let text = (hasReleasedSlot ? "has released its slot, and " : "") + text()
      return finding(.awaiting, text, next: others)
    case .parent:
      return finding(.group, "is a child of \(others.names), which has not started", next: others)
    case .prerequisite(let condition):
      return finding(
        .prerequisite,
        "needs \(others.names) for condition “\(condition)”",
        about: condition,
        next: others
      )
    case .change(let name, let text, let reason, let isReasonError, let remedy, let begin):
      let duration = max(now.saturatingSubtracting(begin), .zero)
      var finding = finding(
        .gate,
        text,
        remedy: remedy.map { remedy in { _ in remedy } },
        for: duration,
        about: name
      )
      finding.isDurationShown = duration > .zero
      finding.ending = ": \(reason)"
      finding.isEndingError = isReasonError
      return finding
    case .children:
      return finding(.children, "waits for its children \(others.names)", next: others)
    case .claim(let claim):
      let isTimed = claim.availableAt != nil
      let remedy = { (_: String) in "“\(claim.name)” has to become free" }
      var finding = finding(
        .claim,
        claim.text(at: now),
        remedy: others.isEmpty && !isTimed ? remedy : nil,
        for: isTimed ? nil : duration,
        about: claim.name,
        next: others
      )
      // The times of operations that wait for a rate differ.
      if isTimed { finding.commonWords = claim.name }
      return finding
    }
  }
}

extension Operation {
  /// Whether a wait for a slot is the wait of a body that has released its slot.
  private final var takesSlotAgain: Bool {
    isExecuting && (self as? AdvancedOperation)?.attemptTurn == nil
  }
}

extension Wait.Claim {
  /// The claim and the reason why it isn't available, as the rest of a sentence that begins with the
  /// operation's name.
  fileprivate func text(at now: Duration) -> String {
    var text = "waits for “\(name)”"
    if let units {
      text =
        "waits for \(units.needed) of “\(name)” (\(max(units.free, 0)) of \(units.capacity) free)"
    }
    if let hold, hold.end > now {
      let reason = hold.reason.isEmpty ? "" : ": \(hold.reason)"
      return "\(text), which is held for another \((hold.end - now).readable)\(reason)"
    }
    if let availableAt {
      return "\(text), which lets the next start in \(max(availableAt - now, .zero).readable)"
    }
    if !holders.isEmpty {
      return "\(text), which \(holders.names) \(holders.count == 1 ? "holds" : "hold")"
    }
    return front.map { "\(text), which \($0.label) gets first" } ?? text
  }
}

extension AdvancedOperation {
  /// The waits of the operation, in one line; nil if it has no known wait.
  final var textOfWaits: String? {
    let waits = waitsInDetail
    if waits.isEmpty { return nil }
    let now = environment.clock.now
    return waits.map { finding($0, at: now).cause.text }.joined(separator: ", ")
  }

  /// The waits of the operation at this moment.
  ///
  /// Waits for claims replace the queue's wait for readiness.
  final var waitsInDetail: [Wait] {
    currentWaits.flatMap { wait in
      guard case .readiness = wait.kind else { return [wait] }
      let details = layerWaits(.turn)
      return details.isEmpty ? [wait] : details
    }
  }
}
