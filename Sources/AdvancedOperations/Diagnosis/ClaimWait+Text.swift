extension ClaimWait {
  /// What it waits for and why it can't have it, to go on after the name of an operation.
  func text(at now: Duration) -> String {
    var text = "waits for “\(name)”"
    if let units {
      text =
        "waits for \(units.needed) of “\(name)” (\(max(units.free, 0)) of \(units.capacity) free)"
    }
    if let availableAt {
      return "\(text), which lets the next start in \(max(availableAt - now, .zero).readable)"
    }
    if !holders.isEmpty {
      return "\(text), which \(holders.names) \(holders.count == 1 ? "holds" : "hold")"
    }
    return front.map { "\(text), for which it is \($0.label)'s turn" } ?? text
  }
}
