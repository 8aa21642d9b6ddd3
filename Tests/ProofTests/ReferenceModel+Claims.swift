/// What may happen to claims.
///
/// An operation has taken its claims when the domain gave them to it, which may be long before it
/// is told to start: one release gives to several that wait, and their queues start them in any
/// order.
extension ReferenceModel {
  private func holders(of name: String, besides number: Int) -> [Int] {
    plans.indices.filter { other in
      other != number && past[other].holdsClaims
        && plans[other].claims.contains { $0.name == name }
    }
  }

  /// The strictest limit of an operation's claim and of those that hold the same.
  private func limit(of name: String, _ own: Int, besides holders: [Int]) -> Int {
    holders.flatMap { plans[$0].claims.filter { $0.name == name }.map(\.limit) }
      .reduce(own) { min($0, $1) }
  }

  mutating func took(_ number: Int) {
    if past[number].tookAt != nil { complain(number, "took its claims twice") }
    checkSlot(of: number, "took its claims")
    for claim in plans[number].claims {
      let holders = holders(of: claim.name, besides: number)
      let limit = limit(of: claim.name, claim.limit, besides: holders)
      if holders.count >= limit {
        complain(number, "entered “\(claim.name)” beside \(holders), for \(limit)")
      }
      for other in plans.indices where mustComeFirst(other, to: claim.name, before: number) {
        complain(number, "overtook \(other), which waited for “\(claim.name)” before")
      }
    }
    past[number].tookAt = time
    past[number].hasTakenAgain = past[number].isPaused
  }

  /// Whether an operation stands in the line of a claim before another, and nobody may go by.
  ///
  /// It has nothing else to wait for, and its queue can start it at any time. Conditions that are
  /// asked again take nobody's turn; it wouldn't wait if they had said no.
  private func mustComeFirst(_ other: Int, to name: String, before number: Int) -> Bool {
    let plan = plans[other]
    let queue = queues[plan.queue]
    guard other != number, past[other].isWaiting, plan.claims.map(\.name) == [name],
      queue.limit < 0, !queue.mayBeSuspended,
      let since = past[other].waitsSince
    else { return false }
    return past[number].waitsSince.map { since < $0 } ?? true
  }

  /// Whether an operation cancels another because it claims what that holds.
  ///
  /// It cancels all that stand in its way, and may have what it wants when the first of them has
  /// ended.
  func mayTakeOver(_ other: Int, from holder: Int) -> Bool {
    // It may have paused since it was to be cancelled.
    guard let since = past[holder].tookBefore ?? past[holder].tookAt else { return false }
    if past[holder].tookBefore == nil && !past[holder].holdsClaims { return false }
    let held = plans[holder].claims.map(\.name)
    return past[other].waitsSince != nil && past[other].mayStart
      && since < past[other].tookAt ?? .max
      && plans[other].claims.contains { held.contains($0.name) && $0.busy == .cancelHolder }
  }

  mutating func gaveBack(_ number: Int) {
    if !past[number].holdsClaims { complain(number, "gave back claims that it didn't have") }
    if past[number].isPaused, past[number].ending == nil {
      if past[number].hasTakenAgain { complain(number, "took its claims for nothing") }
      past[number].tookBefore = past[number].tookBefore ?? past[number].tookAt
      past[number].tookAt = nil
      past[number].waitsSince = nil
      return
    }
    guard past[number].ending != nil else {
      // It goes on, so that whoever enters now enters beside it.
      complain(number, "lost its claims before its end")
      return
    }
    past[number].gaveBackAt = time
  }

  /// Of those that may be asked now, notes which a claim would refuse; failing wins over skipping.
  mutating func noteBusy() {
    for number in plans.indices where past[number].mayStart && past[number].readyAt != nil {
      let full = plans[number].claims.filter { claim in
        let holders = holders(of: claim.name, besides: number)
        return holders.count >= limit(of: claim.name, claim.limit, besides: holders)
      }
      let awaited = plans[number].claims.filter { claim in
        plans.indices.contains { other in
          past[other].isWaiting && plans[other].claims.contains { $0.name == claim.name }
        }
      }
      if (full + awaited).contains(where: { $0.busy == .fail }) {
        past[number].busyEndings.insert(.failed)
      }
      // Who waits for one of several claims may stand in the line of another one.
      let fails = full.contains { $0.busy == .fail }
      if !fails, (full + awaited).contains(where: { $0.busy == .skip }) {
        past[number].busyEndings.insert(.skipped)
      }
    }
  }
}
