/// What the lines of a provider's ledger come to.
struct LedgerSummary {
  /// The charges that stand, each in its last line.
  private(set) var standing: [OrderAudit.Charge] = []

  /// How often a card was charged for each order, also when it was given back.
  ///
  /// Each line that says so counts, under whatever key: a charge that came twice under one key, and
  /// one that came again after it was given back, are found.
  private(set) var counts: [String: Int] = [:]

  init(_ lines: [OrderAudit.Charge]) {
    var last: [String: OrderAudit.Charge] = [:]
    var charged: [String: Int] = [:]
    var keys: [String] = []
    for line in lines {
      if last.updateValue(line, forKey: line.key) == nil { keys.append(line.key) }
      if line.status == "charged" { charged[line.key, default: 0] += 1 }
    }
    for line in keys.compactMap({ last[$0] }) {
      if line.status == "charged" { standing.append(line) }
      // A ledger without the line before it.
      let count = charged[line.key] ?? (line.status == "refunded" ? 1 : 0)
      if count > 0 { counts[line.reference, default: 0] += count }
    }
  }
}
