/// What the lines of a provider's ledger come to.
struct LedgerSummary {
  /// What happened under a key.
  fileprivate struct History {
    var last: OrderAudit.Charge
    var charges: [OrderAudit.Charge] = []
    var refunds: [OrderAudit.Charge] = []

    /// What is wrong with what was given back; one sentence each.
    var mistakes: [String] {
      var mistakes: [String] = []
      // A ledger may begin with a refund.
      if refunds.count > max(charges.count, 1) {
        let count = refunds.count
        mistakes.append("The provider has refunded \(count) times for “\(last.reference)”.")
      }
      for refund in refunds {
        guard let charge = charges.last else { continue }
        if (refund.amount, refund.currency) == (charge.amount, charge.currency) { continue }
        mistakes.append(
          "The provider has charged \(charge.sum) for “\(last.reference)”, and refunded \(refund.sum)."
        )
      }
      return mistakes
    }
  }

  /// The charges that stand, each in its last line.
  private(set) var standing: [OrderAudit.Charge] = []

  /// How often a card was charged for each order, also when it was given back.
  ///
  /// Each line that says so counts, under whatever key: a charge that came twice under one key, and
  /// one that came again after it was given back, are found.
  private(set) var counts: [String: Int] = [:]

  /// What is wrong with what was given back; one sentence each.
  private(set) var mistakes: [String] = []

  init(_ lines: [OrderAudit.Charge]) {
    var histories: [String: History] = [:]
    var keys: [String] = []
    for line in lines {
      if histories[line.key] == nil { keys.append(line.key) }
      histories[line.key, default: History(last: line)].note(line)
    }
    for history in keys.compactMap({ histories[$0] }) {
      let line = history.last
      if line.status == "charged" { standing.append(line) }
      // A ledger without the line before it.
      let count = max(history.charges.count, line.status == "refunded" ? 1 : 0)
      if count > 0 { counts[line.reference, default: 0] += count }
      mistakes += history.mistakes
    }
  }
}

extension LedgerSummary.History {
  fileprivate mutating func note(_ line: OrderAudit.Charge) {
    last = line
    switch line.status {
    case "charged": charges.append(line)
    case "refunded": refunds.append(line)
    default: break
    }
  }
}
