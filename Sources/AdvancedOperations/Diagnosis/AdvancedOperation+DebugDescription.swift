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
    let obstacles = environment.exclusivity.obstacles(of: self)
    if obstacles.isEmpty { return nil }
    let now = environment.clock.now
    return obstacles.map { "waits for “\($0.name)”\($0.reason(at: now))" }
  }
}

extension ClaimObstacle {
  /// Why it is an obstacle, as the end of a sentence.
  fileprivate func reason(at now: Duration) -> String {
    if let availableAt {
      return ", which lets the next start in \(max(availableAt - now, .zero).readable)"
    }
    if !holders.isEmpty {
      let names = holders.prefix(8).map(\.label).joined(separator: ", ")
      let rest = holders.count > 8 ? " and \(holders.count - 8) more" : ""
      return ", which \(names)\(rest) \(holders.count == 1 ? "holds" : "hold")"
    }
    return front.map { ", for which it is \($0.label)'s turn" } ?? ""
  }
}
