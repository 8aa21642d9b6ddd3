/// Who is in and who waits for claims, computed the plain way: lists, and everything looked at
/// every time.
package struct ClaimModel {
  package struct Demand {
    package let resource: String
    package let units: Int
    package let limit: Int

    package init(resource: String, units: Int, limit: Int) {
      self.resource = resource
      self.units = units
      self.limit = limit
    }
  }

  private struct Member {
    /// Around it, the innermost first.
    let groups: [Int]
    let demands: [Demand]
    /// What groups lend it of each resource, and which group how much.
    var loans: [String: [Int: Int]] = [:]

    func demand(_ resource: String) -> Demand? { demands.first { $0.resource == resource } }
  }

  private var members: [Int: Member] = [:]
  /// In the order of entering.
  package private(set) var inside: [Int] = []
  /// In the order of coming, and the resource that each stands in line for.
  package private(set) var waiting: [(number: Int, resource: String)] = []
  private var limits: [String: Set<Int>] = [:]
  /// The groups whose children have waited for a resource that the group holds.
  private var awaited: [String: Set<Int>] = [:]

  package init() {}

  // MARK: The rules

  private func taken(_ number: Int, _ resource: String) -> Int {
    guard let demand = members[number]?.demand(resource) else { return 0 }
    return demand.units - (members[number]?.loans[resource]?.values.reduce(0, +) ?? 0)
  }

  private func used(_ resource: String) -> Int { inside.reduce(0) { $0 + taken($1, resource) } }

  /// How much a group can lend.
  private func lendable(_ group: Int, _ resource: String) -> Int {
    let lent = inside.reduce(0) { $0 + (members[$1]?.loans[resource]?[group] ?? 0) }
    return (members[group]?.demand(resource)?.units ?? 0) - lent
  }

  /// The groups around somebody that hold some of a resource, the innermost first.
  private func lenders(_ number: Int, _ resource: String) -> [Int] {
    (members[number]?.groups ?? []).filter {
      inside.contains($0) && members[$0]?.demand(resource) != nil
    }
  }

  /// The strictest limit of those inside and of the one that wants in.
  private func limit(_ demand: Demand) -> Int {
    inside.compactMap { members[$0]?.demand(demand.resource)?.limit }
      .reduce(demand.limit) { min($0, $1) }
  }

  private func fits(_ demand: Demand, _ number: Int) -> Bool {
    let resource = demand.resource
    let lent = lenders(number, resource).reduce(0) { $0 + lendable($1, resource) }
    return max(0, demand.units - lent) <= limit(demand) - used(demand.resource)
  }

  /// What the groups around an operation hold is for it and its siblings, in the order of coming;
  /// the rest is for all, in the order of coming.
  private func mayEnter(
    _ demand: Demand,
    _ number: Int,
    behind front: ArraySlice<(number: Int, resource: String)>
  ) -> Bool {
    let front = front.filter { $0.resource == demand.resource }.map(\.number)
    var open = demand.units
    for group in lenders(number, demand.resource) {
      if front.contains(where: { members[$0]?.groups.contains(group) == true }) { return false }
      open -= lendable(group, demand.resource)
      if open <= 0 && used(demand.resource) <= limit(demand) { return true }
    }
    return front.isEmpty && max(0, open) <= limit(demand) - used(demand.resource)
  }

  /// What keeps an operation out that comes after those in front.
  private func busy(
    _ number: Int,
    behind front: ArraySlice<(number: Int, resource: String)>
  ) -> String? {
    let busy = (members[number]?.demands ?? []).filter { !mayEnter($0, number, behind: front) }
    let full = busy.first { used($0.resource) >= limit($0) }
    return (full ?? busy.first { !fits($0, number) } ?? busy.first)?.resource
  }

  /// Whether each that waits has to.
  package var isStable: Bool {
    waiting.indices.allSatisfy { index in
      let (number, resource) = waiting[index]
      guard let demand = members[number]?.demand(resource) else { return false }
      return !mayEnter(demand, number, behind: waiting[..<index])
    }
  }

  // MARK: What happens

  package mutating func came(_ number: Int, _ demands: [Demand], inside groups: [Int] = []) {
    members[number] = Member(groups: groups, demands: demands)
    for demand in demands { limits[demand.resource, default: []].insert(demand.limit) }
    if let resource = busy(number, behind: waiting[...]) {
      waiting.append((number, ""))
      wait(at: waiting.count - 1, for: resource)
    } else {
      enter(number)
    }
  }

  private mutating func wait(at index: Int, for resource: String) {
    waiting[index].resource = resource
    awaited[resource, default: []].formUnion(lenders(waiting[index].number, resource))
  }

  private mutating func enter(_ number: Int) {
    for demand in members[number]?.demands ?? [] {
      var open = demand.units
      for group in lenders(number, demand.resource) {
        let part = min(open, lendable(group, demand.resource))
        if part > 0 { members[number]?.loans[demand.resource, default: [:]][group] = part }
        open -= part
      }
    }
    inside.append(number)
  }

  package mutating func left(_ number: Int) {
    if let index = waiting.firstIndex(where: { $0.number == number }) {
      let resource = waiting.remove(at: index).resource
      becameFree(resource, to: lenders(number, resource))
    } else if let index = inside.firstIndex(of: number) {
      let loans = members[number]?.loans ?? [:]
      inside.remove(at: index)
      members[number]?.loans = [:]
      let demands = members[number]?.demands ?? []
      for demand in demands {
        let resource = demand.resource
        let around = lenders(number, resource)
        becameFree(resource, toChildrenOf: around.filter { loans[resource]?[$0] != nil })
        // Its own children stand in the line around it now.
        if awaited[resource]?.remove(number) != nil { becameFree(resource, to: around) }
        // Those inside may have been kept by a limit.
        if limits[resource, default: []].count > 1 {
          becameFree(
            resource,
            toChildrenOf: inside.filter { members[$0]?.demand(resource) != nil }
          )
        }
      }
      for demand in demands { becameFree(demand.resource, to: []) }
    }
  }

  private mutating func becameFree(_ resource: String, toChildrenOf groups: [Int]) {
    for group in groups where awaited[resource]?.contains(group) == true {
      becameFree(resource, to: [group] + lenders(group, resource))
    }
  }

  /// Looks at those inside of some groups, the innermost first, and then at all.
  private mutating func becameFree(_ resource: String, to groups: [Int]) {
    var levels: [Int?] = groups + [nil]
    while let level = levels.first {
      let index = waiting.firstIndex { waiter in
        waiter.resource == resource
          && level.map { members[waiter.number]?.groups.contains($0) == true } ?? true
      }
      guard let index, let demand = members[waiting[index].number]?.demand(resource),
        mayEnter(demand, waiting[index].number, behind: waiting[..<index])
      else {
        levels.removeFirst()
        continue
      }
      let number = waiting[index].number
      levels = lenders(number, resource) + [nil]
      waiting[index].resource = ""
      if let other = busy(number, behind: waiting[..<index]) {
        wait(at: index, for: other)
      } else {
        waiting.remove(at: index)
        enter(number)
      }
    }
  }
}
