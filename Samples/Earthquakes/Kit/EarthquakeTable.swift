import GRDB

/// The events of a database while a feed is stored, inside of one transaction.
///
/// The networks that locate an event give it an identity each, and the feed calls it by that of the preferred
/// network. So two descriptions with different identities may be of one event. The newer description decides.
struct EarthquakeTable {
  /// The effect of storing a description.
  enum Effect {
    /// The event wasn't known.
    case inserted
    /// The event was known by an older description.
    case replaced
    /// The event was known by the same or a newer description.
    case unchanged
  }

  private let find: Statement
  private let insert: Statement
  private let delete: Statement
  private let insertIdentity: Statement
  private let deleteIdentity: Statement
  private let deleteIdentities: Statement

  init(_ database: Database) throws {
    find = try database.makeStatement(
      sql: """
        SELECT id, updated FROM earthquake WHERE id = ?1
        UNION ALL
        SELECT earthquake.id, updated FROM otherIdentity
          JOIN earthquake ON earthquake.id = otherIdentity.earthquake WHERE otherIdentity.id = ?1
        """
    )
    insert = try database.makeStatement(
      sql: """
        INSERT INTO earthquake
          (id, time, updated, magnitude, magnitudeType, place, type, longitude, latitude, depth,
           isDeleted)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """
    )
    delete = try database.makeStatement(sql: "DELETE FROM earthquake WHERE id = ?")
    insertIdentity = try database.makeStatement(
      sql: """
        INSERT OR REPLACE INTO otherIdentity (id, earthquake)
        SELECT ?1, ?2 WHERE NOT EXISTS (SELECT 1 FROM earthquake WHERE id = ?1)
        """
    )
    deleteIdentity = try database.makeStatement(sql: "DELETE FROM otherIdentity WHERE id = ?")
    deleteIdentities = try database.makeStatement(
      sql: "DELETE FROM otherIdentity WHERE earthquake = ?"
    )
  }

  /// Stores a description of an event unless the same or a newer one is known.
  func store(_ earthquake: Earthquake, isDeleted: Bool) throws -> Effect {
    let ids = [earthquake.id] + earthquake.otherIDs
    var known: [String: Int64] = [:]
    for id in ids {
      for row in try Row.fetchAll(find, arguments: [id]) { known[row[0]] = row[1] }
    }
    // A newer description that doesn't name the stored identity is of another event: the networks have found
    // out that there were two.
    let older = known.filter { $0.value < earthquake.updated.milliseconds && ids.contains($0.key) }
      .map(\.key)
    let newest = known.filter { $0.value >= earthquake.updated.milliseconds }
      .max { ($0.value, $0.key) < ($1.value, $1.key) }
    for id in older {
      try delete.execute(arguments: [id])
      try deleteIdentities.execute(arguments: [id])
    }
    if newest == nil {
      try deleteIdentity.execute(arguments: [earthquake.id])
      try insert(earthquake, isDeleted: isDeleted)
    }
    // An older description may tell of a network that the newest one doesn't belong together with any more.
    if newest.map({ $0.value == earthquake.updated.milliseconds }) ?? true {
      for id in ids { try insertIdentity.execute(arguments: [id, newest?.key ?? earthquake.id]) }
    }
    if newest != nil { return .unchanged }
    return older.isEmpty ? .inserted : .replaced
  }

  private func insert(_ earthquake: Earthquake, isDeleted: Bool) throws {
    try insert.execute(arguments: [
      earthquake.id, earthquake.time.milliseconds, earthquake.updated.milliseconds,
      earthquake.magnitude, earthquake.magnitudeType, earthquake.place, earthquake.type,
      earthquake.location?.longitude, earthquake.location?.latitude, earthquake.location?.depth,
      isDeleted,
    ])
  }
}
