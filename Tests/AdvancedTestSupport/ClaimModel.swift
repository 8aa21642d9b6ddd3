/// Which operations hold claims and which wait, computed the plain way: lists, and everything checked
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

  /// A resource, or what a group holds of it.
  private struct Place: Hashable {
    let resource: String
    var group: Int?
  }

  /// What an operation needs at one place.
  private struct Part {
    let place: Place
    let units: Int
    let limit: Int
  }

  private var demands: [Int: [Demand]] = [:]
  private var parts: [Int: [Part]] = [:]
  /// In the order of entering.
  package private(set) var inside: [Int] = []
  /// In the order of coming, and the place that each waits for.
  private var queue: [(number: Int, place: Place)] = []

  package init() {}

  package var waiting: [(number: Int, resource: String)] {
    queue.map { ($0.number, $0.place.resource) }
  }

  // MARK: The rules

  /// A child uses what its groups hold, from the innermost on, and takes the rest like operations
  /// outside; what an outer group has lent to an inner one is there once.
  private func parts(of demand: Demand, inside groups: [Int]) -> [Part] {
    let resource = demand.resource
    let common = Place(resource: resource)
    var parts: [Part] = []
    var open = demand.units
    var limits: [Int] = []
    var inner: Int?
    for group in groups where inside.contains(group) {
      guard let held = demands[group]?.first(where: { $0.resource == resource }) else { continue }
      let room = Place(resource: resource, group: group)
      let lent = inner.flatMap { self.parts[$0]?.first { $0.place == room }?.units } ?? 0
      let units = min(open, held.units - lent)
      if units > 0 { parts.append(Part(place: room, units: units, limit: held.units)) }
      open -= units
      limits.append(held.limit)
      inner = group
    }
    // The strictest limit decides, inside of groups as well.
    if open > 0 || limits.allSatisfy({ $0 > demand.limit }) {
      parts.append(Part(place: common, units: open, limit: demand.limit))
    }
    return parts
  }

  private func partsInside(_ place: Place) -> [Part] {
    inside.flatMap { parts[$0] ?? [] }.filter { $0.place == place }
  }

  private func used(_ place: Place) -> Int { partsInside(place).reduce(0) { $0 + $1.units } }

  /// The strictest limit of those inside and of the one that wants in.
  private func limit(_ part: Part) -> Int {
    partsInside(part.place).reduce(part.limit) { min($0, $1.limit) }
  }

  private func fits(_ part: Part) -> Bool { used(part.place) + part.units <= limit(part) }

  /// Whether there is room, and no operation in front waits for the same.
  private func mayEnter(
    _ part: Part,
    behind front: ArraySlice<(number: Int, place: Place)>
  ) -> Bool {
    fits(part) && !front.contains { $0.place == part.place }
  }

  /// What keeps an operation out that comes after those in front.
  private func busy(
    _ number: Int,
    behind front: ArraySlice<(number: Int, place: Place)>
  ) -> Place? {
    let busy = (parts[number] ?? []).filter { !mayEnter($0, behind: front) }
    let full = busy.first { !fits($0) && used($0.place) >= limit($0) }
    return (full ?? busy.first { !fits($0) } ?? busy.first)?.place
  }

  /// Whether each operation that waits has to.
  package var isStable: Bool {
    queue.indices.allSatisfy { index in
      let (number, place) = queue[index]
      guard let part = parts[number]?.first(where: { $0.place == place }) else { return false }
      return !mayEnter(part, behind: queue[..<index])
    }
  }

  // MARK: Events

  package mutating func came(_ number: Int, _ demands: [Demand], inside groups: [Int] = []) {
    self.demands[number] = demands
    parts[number] = demands.flatMap { parts(of: $0, inside: groups) }
    if let place = busy(number, behind: queue[...]) {
      queue.append((number, place))
    } else {
      inside.append(number)
    }
  }

  package mutating func left(_ number: Int) {
    if let index = queue.firstIndex(where: { $0.number == number }) {
      becameFree(queue.remove(at: index).place)
    } else if let index = inside.firstIndex(of: number) {
      inside.remove(at: index)
      for part in parts[number] ?? [] { becameFree(part.place) }
    }
  }

  private mutating func becameFree(_ place: Place) {
    while let index = queue.firstIndex(where: { $0.place == place }) {
      let number = queue[index].number
      guard let part = parts[number]?.first(where: { $0.place == place }),
        mayEnter(part, behind: queue[..<index])
      else { return }
      // It waits for nothing while it is checked.
      queue[index].place = Place(resource: "")
      if let other = busy(number, behind: queue[..<index]) {
        queue[index].place = other
      } else {
        queue.remove(at: index)
        inside.append(number)
      }
    }
  }
}
