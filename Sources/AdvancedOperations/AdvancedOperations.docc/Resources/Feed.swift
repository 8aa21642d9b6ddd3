/// Stands for the server of the U.S. Geological Survey: it doesn't answer at first.
actor FeedServer {
  private var failures = 1

  func feed(named name: String) throws -> String {
    if failures > 0 {
      failures -= 1
      throw ConnectionLost()
    }
    return """
      9.5 Valdivia, Chile
      9.2 Prince William Sound, Alaska
      9.1 Off the coast of Tōhoku, Japan
      """
  }
}

struct ConnectionLost: Error, CustomStringConvertible {
  let description = "The connection was lost."
}

struct Earthquake: Sendable {
  let magnitude: Double
  let place: String

  init?(_ line: Substring) {
    let parts = line.split(separator: " ", maxSplits: 1)
    guard parts.count == 2, let magnitude = Double(parts[0]) else { return nil }
    self.magnitude = magnitude
    place = String(parts[1])
  }
}

/// Stands for a database.
actor Database {
  private(set) var earthquakes: [Earthquake] = []

  func insert(_ new: [Earthquake]) { earthquakes += new }

  func remove(_ places: Set<String>) { earthquakes.removeAll { places.contains($0.place) } }
}
