import EarthquakeKit
import Foundation
import Testing

@Suite struct `Storing feeds` {
  private func feed(
    _ earthquakes: [Earthquake],
    generated: TimeInterval = 0,
    url: String = "feed"
  ) -> Feed {
    Feed(
      metadata: FeedMetadata(
        generated: Date(timeIntervalSince1970: generated),
        url: url,
        title: "Title of \(url)",
        count: earthquakes.count
      ),
      earthquakes: earthquakes
    )
  }

  private func earthquake(
    _ id: String,
    updated: TimeInterval,
    magnitude: Double? = 1,
    time: TimeInterval = 0
  ) -> Earthquake {
    Earthquake(
      id: id,
      time: Date(timeIntervalSince1970: time),
      updated: Date(timeIntervalSince1970: updated),
      magnitude: magnitude
    )
  }

  @Test func `a database returns every field of every event`() throws {
    let database = try EarthquakeDatabase.inMemory()
    let feed = try Feed.parse(TinyFeed.data)
    let summary = try database.store(feed)
    #expect(summary == StoreSummary(inserted: 8, updated: 0, unchanged: 0))
    #expect(try database.count() == 8)
    // By time: h happened in 1960, the others day by day in the order of their names.
    let byID = Dictionary(uniqueKeysWithValues: feed.earthquakes.map { ($0.id, $0) })
    let expected = ["h", "a", "b", "c", "d", "e", "f", "g"].compactMap { byID[$0] }
    #expect(try database.earthquakes() == expected)
  }

  @Test func `keeps times to the millisecond`() throws {
    let database = try EarthquakeDatabase.inMemory()
    let data = FeedText.feed(
      [FeedText.feature(time: "1657039408082", updated: "1657039558684")],
      generated: "1657040026001"
    )
    let feed = try Feed.parse(data)
    try database.store(feed)
    #expect(try database.earthquakes() == feed.earthquakes)
    #expect(
      try database.lastGenerated(forFeed: feed.metadata.url) == feed.metadata.generated
    )
  }

  @Test func `changes nothing when a feed is stored again`() throws {
    let database = try EarthquakeDatabase.inMemory()
    let feed = try Feed.parse(TinyFeed.data)
    try database.store(feed)
    let before = try database.earthquakes()
    let report = try database.report()
    #expect(
      try database.store(feed) == StoreSummary(inserted: 0, updated: 0, unchanged: 8)
    )
    #expect(try database.earthquakes() == before)
    #expect(try database.report() == report)
  }

  @Test func `replaces an event by a newer description, whole`() throws {
    let database = try EarthquakeDatabase.inMemory()
    var old = earthquake("x", updated: 10, magnitude: 4)
    old.place = "Preliminary"
    old.location = Location(longitude: 1, latitude: 2, depth: 3)
    var new = earthquake("x", updated: 10.001, magnitude: nil, time: 60)
    new.type = "explosion"
    try database.store(feed([old, earthquake("y", updated: 10)]))
    let summary = try database.store(feed([new, earthquake("z", updated: 1)]))
    #expect(summary == StoreSummary(inserted: 1, updated: 1, unchanged: 0))
    #expect(try database.earthquakes().first { $0.id == "x" } == new)
    #expect(try database.count() == 3)
  }

  @Test func `does not replace an event by an older description`() throws {
    let database = try EarthquakeDatabase.inMemory()
    let new = earthquake("x", updated: 10, magnitude: 4)
    try database.store(feed([new]))
    let summary = try database.store(feed([earthquake("x", updated: 9.999, magnitude: 5)]))
    #expect(summary == StoreSummary(inserted: 0, updated: 0, unchanged: 1))
    #expect(try database.earthquakes() == [new])
  }

  @Test func `does not replace an event by another description of the same time`() throws {
    let database = try EarthquakeDatabase.inMemory()
    let first = earthquake("x", updated: 10, magnitude: 4)
    try database.store(feed([first]))
    try database.store(feed([earthquake("x", updated: 10, magnitude: 5)]))
    #expect(try database.earthquakes() == [first])
  }

  @Test func `takes the newer description of an event that a feed has twice`() throws {
    let newer = earthquake("x", updated: 2)
    for order in [[newer, earthquake("x", updated: 1)], [earthquake("x", updated: 1), newer]] {
      let database = try EarthquakeDatabase.inMemory()
      let summary = try database.store(feed(order))
      #expect(summary.inserted + summary.updated + summary.unchanged == 2)
      #expect(try database.earthquakes() == [newer])
    }
  }

  @Test func `remembers the newest writing of each feed`() throws {
    let database = try EarthquakeDatabase.inMemory()
    #expect(try database.lastGenerated(forFeed: "one") == nil)
    try database.store(feed([], generated: 100, url: "one"))
    try database.store(feed([], generated: 50, url: "two"))
    #expect(try database.lastGenerated(forFeed: "one") == Date(timeIntervalSince1970: 100))
    #expect(try database.lastGenerated(forFeed: "two") == Date(timeIntervalSince1970: 50))
    try database.store(feed([], generated: 99, url: "one"))
    #expect(try database.lastGenerated(forFeed: "one") == Date(timeIntervalSince1970: 100))
    try database.store(feed([], generated: 101, url: "one"))
    #expect(try database.lastGenerated(forFeed: "one") == Date(timeIntervalSince1970: 101))
  }

  @Test func `lasts from one opening of the file to the next`() throws {
    let folder = try TemporaryFolder()
    let path = folder.path("earth quakes.sqlite")
    let feed = try Feed.parse(TinyFeed.data)
    try EarthquakeDatabase(path: path).store(feed)
    let database = try EarthquakeDatabase(path: path)
    #expect(database.path == path)
    #expect(try database.count() == 8)
    #expect(try database.lastGenerated(forFeed: feed.metadata.url) == feed.metadata.generated)
  }

  @Test func `asks before each event, and once more before it is too late`() throws {
    let database = try EarthquakeDatabase.inMemory()
    var asked: [Int] = []
    try database.store(try Feed.parse(TinyFeed.data)) { asked.append($0) }
    #expect(asked == [0, 1, 2, 3, 4, 5, 6, 7, 8])
  }
}
