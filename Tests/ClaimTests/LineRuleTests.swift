import AdvancedOperations
import AdvancedTestSupport
import Testing

/// Every place, with every demand and policy, as a table; what is expected comes from models that
/// are written here as plainly as the rules are said.
@Suite struct `The rules of a line as values` {
  // MARK: One resource

  /// A line on the way out: how much the group lends, and whether others come first.
  private struct Line {
    let lends: Int
    let isBehind: Bool
  }

  /// One place of the table.
  private struct Place: CustomStringConvertible {
    let capacity: Int
    let used: Int
    let units: Int
    let isPool: Bool
    let groups: [Line]
    let isBehind: Bool

    var room: Int { capacity - used }
    var description: String {
      let lines = groups.map { "\($0.lends)\($0.isBehind ? " behind" : "")" }
      return "\(units) of \(capacity), \(used) used, pool \(isPool), groups \(lines), "
        + "common behind \(isBehind)"
    }

    func with(room more: Int) -> Place {
      Place(
        capacity: capacity + more,
        used: used,
        units: units,
        isPool: isPool,
        groups: groups,
        isBehind: isBehind
      )
    }

    /// What the rule says: the answer, and in which line.
    var answer: (answer: LineRule.Answer, line: Int) {
      var rule = LineRule(units: units, room: room, isPool: isPool)
      for (index, group) in groups.enumerated() {
        let answer = rule.group(lends: group.lends, isBehind: group.isBehind)
        if answer != .goesOn { return (answer, index) }
      }
      return (rule.common(isBehind: isBehind), groups.count)
    }

    /// The same, unit by unit: the operation collects what it needs from the inside out.
    var expected: (answer: LineRule.Answer, line: Int) {
      let isOverdrawn = used > capacity
      var collected: Set<Int> = []
      for (index, group) in groups.enumerated() {
        if group.isBehind { return (.waitsForTurn, index) }
        for _ in 0..<group.lends { collected.insert(collected.count) }
        // What is lent of a pool is of use whatever the capacity is by now.
        if collected.count >= units && (isPool || !isOverdrawn) { return (.enters, index) }
      }
      if isBehind { return (.waitsForTurn, groups.count) }
      let missing = (0..<units).filter { !collected.contains($0) }
      if missing.isEmpty { return (isPool || !isOverdrawn ? .enters : .waitsForRoom, groups.count) }
      var free = Set(isOverdrawn ? 0..<0 : used..<capacity)
      for _ in missing where free.popFirst() == nil { return (.waitsForRoom, groups.count) }
      return (.enters, groups.count)
    }
  }

  private static var places: [Place] {
    let lines = [0, 1, 2].flatMap { lends in
      [false, true].map { Line(lends: lends, isBehind: $0) }
    }
    let nests = [[]] + lines.map { [$0] } + lines.flatMap { inner in lines.map { [inner, $0] } }
    var places: [Place] = []
    for capacity in 1...3 {
      for used in 0...4 {
        for units in 0...4 {
          for groups in nests {
            for isPool in [false, true] {
              for isBehind in [false, true] {
                places.append(
                  Place(
                    capacity: capacity,
                    used: used,
                    units: units,
                    isPool: isPool,
                    groups: groups,
                    isBehind: isBehind
                  )
                )
              }
            }
          }
        }
      }
    }
    return places
  }

  private static func expectAll(
    _ what: String,
    sourceLocation: SourceLocation = #_sourceLocation,
    _ holds: (Place) -> Bool
  ) {
    let places = places
    #expect(places.count == 3 * 5 * 5 * 43 * 4, sourceLocation: sourceLocation)
    for place in places where !holds(place) {
      Issue.record("\(what): \(place), \(place.answer)", sourceLocation: sourceLocation)
      return
    }
  }

  @Test func `each place has the answer of the plain model`() {
    Self.expectAll("not as in the model") { $0.answer == $0.expected }
  }

  @Test func `nothing passes those who came earlier`() {
    Self.expectAll("passed") { place in
      let (answer, line) = place.answer
      let lines = place.groups.map(\.isBehind) + [place.isBehind]
      return answer == .waitsForTurn ? lines[line] : !lines[...line].contains(true)
    }
  }

  @Test func `nothing is booked twice`() {
    Self.expectAll("overbooked") { place in
      let (answer, line) = place.answer
      if answer != .enters { return true }
      let lent = place.groups.prefix(line + 1).reduce(0) { $0 + $1.lends }
      let own = max(0, place.units - lent)
      return own == 0 && place.isPool || own <= place.room
    }
  }

  @Test func `what a group holds its children may enter, whatever waits further out`() {
    Self.expectAll("kept out") { place in
      guard let group = place.groups.first, !group.isBehind, group.lends >= place.units,
        place.isPool || place.room >= 0
      else { return true }
      return place.answer == (.enters, 0)
    }
  }

  @Test func `the first of all lines enters as soon as there is room`() {
    Self.expectAll("starved") { place in
      let isFirst = !place.isBehind && !place.groups.contains(where: \.isBehind)
      return !isFirst || place.with(room: 8).answer.answer == .enters
    }
  }

  @Test func `more room keeps nothing out`() {
    Self.expectAll("kept out by room") { place in
      place.answer.answer != .enters || place.with(room: 1).answer.answer == .enters
    }
  }

  @Test func `as many units as are missing are enough, and fewer aren't`() {
    Self.expectAll("missing") { place in
      func rule(_ room: Int) -> LineRule {
        var rule = LineRule(units: place.units, room: place.room + room, isPool: place.isPool)
        for group in place.groups { rule.lend(group.lends) }
        return rule
      }
      let missing = rule(0).missing
      guard missing > 0 else { return rule(0).hasRoom && missing == 0 }
      return rule(missing).hasRoom && !rule(missing - 1).hasRoom
    }
  }

  // MARK: All claims

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

  @Test func `a claim that is free decides nothing`() {
    for claims in Self.lists {
      let busy = claims.filter { $0.obstacle != nil }
      let isFree = Self.decision(claims, alwaysWaits: false) == .enter
      #expect(isFree == busy.isEmpty)
    }
  }
}
