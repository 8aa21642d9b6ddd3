import EarthquakeKit
import Foundation
import Testing

@Suite struct `An event that several networks describe` {
  private let database: EarthquakeDatabase

  init() throws { database = try EarthquakeDatabase.inMemory() }

  /// A description: the preferred identity, the other ones, and when it was published.
  private struct Description {
    var id: String
    var others: [String] = []
    var updated: Int
    var isDeleted = false

    var feature: String {
      FeedText.feature(
        id: "\"\(id)\"",
        updated: "\(updated)000",
        ids: "\",\(([id] + others).joined(separator: ",")),\"",
        status: isDeleted ? "\"deleted\"" : "\"reviewed\""
      )
    }
  }

  @discardableResult
  private func store(
    _ descriptions: Description...,
    in database: EarthquakeDatabase? = nil
  ) throws -> StoreSummary {
    let feed = try Feed.parse(FeedText.feed(descriptions.map(\.feature)))
    return try (database ?? self.database).store(feed)
  }

  private func ids(in database: EarthquakeDatabase? = nil) throws -> [String] {
    try (database ?? self.database).earthquakes().map(\.id)
  }

  @Test func `is one event when another network is preferred`() throws {
    try store(Description(id: "us1", updated: 1))
    let summary = try store(Description(id: "ci2", others: ["us1"], updated: 2))
    #expect(summary == StoreSummary(updated: 1))
    #expect(try database.earthquakes().map(\.id) == ["ci2"])
    #expect(try database.earthquakes().map(\.otherIDs) == [["us1"]])
    #expect(try database.report().count == 1)
  }

  @Test func `is not replaced by an older description with another identity`() throws {
    try store(Description(id: "ci2", others: ["us1"], updated: 2))
    #expect(try store(Description(id: "us1", updated: 1)) == StoreSummary(unchanged: 1))
    #expect(try store(Description(id: "us1", others: ["ci2"], updated: 1)).unchanged == 1)
    #expect(try ids() == ["ci2"])
  }

  @Test func `replaces two that were taken for two events`() throws {
    try store(Description(id: "us1", updated: 1), Description(id: "ci2", updated: 1))
    #expect(try ids() == ["ci2", "us1"])
    let summary = try store(Description(id: "ci2", others: ["us1"], updated: 2))
    #expect(summary == StoreSummary(updated: 1))
    #expect(try ids() == ["ci2"])
  }

  @Test func `is two events when a newer description no longer names the other identity`() throws {
    try store(Description(id: "ci2", others: ["us1"], updated: 2))
    let summary = try store(
      Description(id: "us1", updated: 3),
      Description(id: "ci2", updated: 3)
    )
    #expect(summary == StoreSummary(inserted: 1, updated: 1))
    #expect(try database.earthquakes().map(\.id) == ["ci2", "us1"])
    #expect(try database.earthquakes().map(\.otherIDs) == [[], []])
  }

  @Test func `isn't replaced by the description of an event that was one with it`() throws {
    try store(Description(id: "ci2", others: ["us1"], updated: 2))
    #expect(try store(Description(id: "us1", updated: 3)) == StoreSummary(inserted: 1))
    #expect(try ids() == ["ci2", "us1"])
    #expect(try store(Description(id: "us1", updated: 4)) == StoreSummary(updated: 1))
    #expect(try ids() == ["ci2", "us1"])
  }

  @Test func `learns an identity from a description of the same time`() throws {
    try store(Description(id: "ci2", updated: 2))
    #expect(try store(Description(id: "ci2", others: ["us1"], updated: 2)).unchanged == 1)
    #expect(try store(Description(id: "us1", updated: 1)).unchanged == 1)
    #expect(try ids() == ["ci2"])
  }

  @Test func `learns no identity from an older description`() throws {
    try store(Description(id: "us1", updated: 3))
    #expect(try store(Description(id: "ci2", others: ["us1"], updated: 2)).unchanged == 1)
    #expect(try store(Description(id: "ci2", updated: 3)) == StoreSummary(inserted: 1))
    #expect(try ids() == ["ci2", "us1"])
  }

  /// All orders of some values.
  private func orders(_ values: [Description]) -> [[Description]] {
    if values.isEmpty { return [[]] }
    return values.indices.flatMap { index in
      var rest = values
      let first = rest.remove(at: index)
      return orders(rest).map { [first] + $0 }
    }
  }

  @Test func `is the same in whichever order its descriptions come`() throws {
    let descriptions = [
      Description(id: "us1", updated: 1), Description(id: "ci2", others: ["us1"], updated: 2),
      Description(id: "us1", others: ["ci2"], updated: 3),
      Description(id: "us1", others: ["at3", "ci2"], updated: 4),
    ]
    for order in orders(descriptions) {
      let database = try EarthquakeDatabase.inMemory()
      for description in order { try store(description, in: database) }
      #expect(try ids(in: database) == ["us1"], "\(order)")
      #expect(try database.earthquakes().first?.otherIDs == ["at3", "ci2"], "\(order)")
    }
  }

  // MARK: Deleted

  @Test func `is hidden when it is deleted`() throws {
    try store(Description(id: "us1", updated: 1), Description(id: "us2", updated: 1))
    let summary = try store(Description(id: "us1", updated: 2, isDeleted: true))
    #expect(summary == StoreSummary(deleted: 1))
    #expect(try ids() == ["us2"])
    #expect(try database.count() == 1)
    let report = try database.report()
    #expect(report.count == 1)
    #expect(report.deletedCount == 1)
    #expect(report.countsByType == ["earthquake": 1])
    #expect(report.strongest.map(\.id) == ["us2"])
    #expect(report.magnitudeBins.map(\.count) == [1])
    #expect(report.depths == DepthCounts(shallow: 1))
  }

  @Test func `is hidden when it is deleted by another identity`() throws {
    try store(Description(id: "us1", updated: 1))
    try store(Description(id: "ci2", others: ["us1"], updated: 2, isDeleted: true))
    #expect(try ids() == [])
    #expect(try database.report().deletedCount == 1)
  }

  @Test func `doesn't come back with an older description`() throws {
    let deletion = Description(id: "us1", updated: 2, isDeleted: true)
    #expect(try store(deletion) == StoreSummary(deleted: 1))
    #expect(try store(Description(id: "us1", updated: 1)) == StoreSummary(unchanged: 1))
    #expect(try store(deletion) == StoreSummary(unchanged: 1))
    #expect(try ids() == [])
  }

  @Test func `comes back with a newer description`() throws {
    try store(Description(id: "us1", updated: 2, isDeleted: true))
    #expect(try store(Description(id: "us1", updated: 3)) == StoreSummary(updated: 1))
    #expect(try ids() == ["us1"])
    #expect(try database.report().deletedCount == 0)
  }
}
