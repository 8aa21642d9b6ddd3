import EarthquakeKit
import Foundation
import Testing

@Suite struct `The catalogue that is shipped` {
  private func feed() throws -> Feed {
    try Feed.parse(try NotableEarthquakes.data())
  }

  @Test func `is a whole feed`() throws {
    let metadata = try Feed.validate(try NotableEarthquakes.data())
    let feed = try feed()
    #expect(metadata.count == feed.earthquakes.count)
    #expect((40...60).contains(feed.earthquakes.count))
    #expect(NotableEarthquakes.url?.lastPathComponent == "notable.geojson")
  }

  @Test func `has complete events of our own names, newest first`() throws {
    let earthquakes = try feed().earthquakes
    #expect(Set(earthquakes.map(\.id)).count == earthquakes.count)
    #expect(earthquakes.map(\.time) == earthquakes.map(\.time).sorted(by: >))
    for earthquake in earthquakes {
      let year = Calendar(identifier: .gregorian).dateComponents(
        in: .gmt,
        from: earthquake.time
      ).year
      #expect(earthquake.id.hasPrefix("notable\(year ?? 0)"))
      #expect(earthquake.type == "earthquake")
      #expect(earthquake.place != nil)
      #expect(earthquake.magnitudeType != nil)
      #expect(earthquake.location?.depth != nil)
      #expect(try (5.5...9.5).contains(#require(earthquake.magnitude)))
    }
  }

  @Test(arguments: [
    ("notable1960valdivia", "1960-05-22T19:11:20Z", 9.5),
    ("notable1964alaska", "1964-03-28T03:36:16Z", 9.2),
    ("notable2004sumatra", "2004-12-26T00:58:53Z", 9.1),
    ("notable2011tohoku", "2011-03-11T05:46:24Z", 9.1),
    ("notable1952kamchatka", "1952-11-04T16:58:30Z", 9.0),
    ("notable1906ecuador", "1906-01-31T15:36:10Z", 8.8),
    ("notable2010maule", "2010-02-27T06:34:11Z", 8.8),
    ("notable1906sanfrancisco", "1906-04-18T13:12:26Z", 7.9),
    ("notable2023pazarcik", "2023-02-06T01:17:34Z", 7.8),
  ])
  func `agrees with what is published`(id: String, time: String, magnitude: Double) throws {
    let earthquake = try #require(try feed().earthquakes.first { $0.id == id })
    #expect(earthquake.time.formatted(.iso8601) == time)
    #expect(earthquake.magnitude == magnitude)
  }

  @Test func `has shallow, intermediate and deep events`() throws {
    let classes = Set(try feed().earthquakes.map(\.depthClass))
    #expect(classes == [.shallow, .intermediate, .deep])
    let deep = try feed().earthquakes.filter { $0.depthClass == .deep }.map(\.id)
    #expect(Set(deep) == ["notable1994bolivia", "notable2013okhotsk", "notable2018fiji"])
  }
}
