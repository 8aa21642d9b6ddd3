import CoreOperations

extension AdvancedOperation {
  /// What the operation waits for, in one line; nil when nothing visible keeps it.
  final var textOfWaits: String? {
    let causes = waitCauses
    var texts: [String] = []
    for cause in causes {
      switch cause {
      case .notReady: texts += textsOfClaims ?? [cause.description]
      case .notEnqueued, .dependencies, .suspended, .barrier, .limit, .worker, .ownWait:
        texts.append(cause.description)
      }
    }
    // One that is started by hand is in no queue that could say so.
    if causes.isEmpty, withCore({ $0.machine.isStartedByHand }) { texts += textsOfClaims ?? [] }
    return texts.isEmpty ? nil : texts.joined(separator: ", ")
  }

  /// The claims that it waits for; nil if there are none.
  private final var textsOfClaims: [String]? {
    if withCore({ $0.claims.isEmpty }) { return nil }
    let environment = environment
    let waits = environment.exclusivity.waits(of: self)
    if waits.isEmpty { return nil }
    let now = environment.clock.now
    return waits.map { $0.text(at: now) }
  }
}
