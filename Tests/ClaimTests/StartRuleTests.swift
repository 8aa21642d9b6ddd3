import AdvancedOperations
import AdvancedTestSupport
import Testing

/// Every list of claims as a table; what is expected comes from a model that is written here as
/// plainly as the rule is said.
@Suite struct `The rule of a start decides about all claims of an operation` {
  /// A claim that is busy, or free if it has no obstacle.
  private struct Claim {
    let whenBusy: WhenBusy
    let obstacle: StartRule.Obstacle?
  }

  private static var lists: [[Claim]] {
    let claims = WhenBusy.allCases.flatMap { whenBusy in
      ([nil] + StartRule.Obstacle.allCases).map { Claim(whenBusy: whenBusy, obstacle: $0) }
    }
    let ones = claims.map { [$0] }
    let twos = ones.flatMap { list in claims.map { list + [$0] } }
    return [[]] + ones + twos + twos.flatMap { list in claims.map { list + [$0] } }
  }

  private static func decision(_ claims: [Claim], alwaysWaits: Bool) -> StartRule.Decision {
    var rule = StartRule(alwaysWaits: alwaysWaits)
    for (index, claim) in claims.enumerated() {
      if let obstacle = claim.obstacle { rule.isBusy(index, claim.whenBusy, obstacle) }
    }
    return rule.decision
  }

  /// The rule in the order in which it is said.
  private static func expected(_ claims: [Claim], alwaysWaits: Bool) -> StartRule.Decision {
    let awaited = [StartRule.Obstacle.full, .room, .turn].lazy
      .compactMap { obstacle in claims.firstIndex { $0.obstacle == obstacle } }.first
    func first(_ whenBusy: WhenBusy) -> Int? {
      claims.firstIndex { $0.obstacle != nil && $0.whenBusy == whenBusy }
    }
    guard let awaited else { return .enter }
    if alwaysWaits { return .wait(for: awaited) }
    if let index = first(.fail) { return .fail(for: index) }
    if let index = first(.skip) { return .skip(for: index) }
    return first(.cancelHolder) == nil ? .wait(for: awaited) : .cancelHolders(for: awaited)
  }

  @Test(arguments: [false, true])
  func `each list of claims has the decision of the plain model`(alwaysWaits: Bool) {
    #expect(Self.lists.count == 1 + 16 + 256 + 4096)
    for claims in Self.lists {
      let decision = Self.decision(claims, alwaysWaits: alwaysWaits)
      let expected = Self.expected(claims, alwaysWaits: alwaysWaits)
      guard decision == expected else {
        Issue.record("\(claims): \(decision) and not \(expected)")
        return
      }
    }
  }

  @Test func `a free claim doesn't influence the decision of a start`() {
    for claims in Self.lists {
      let busy = claims.filter { $0.obstacle != nil }
      let isFree = Self.decision(claims, alwaysWaits: false) == .enter
      #expect(isFree == busy.isEmpty)
    }
  }
}
