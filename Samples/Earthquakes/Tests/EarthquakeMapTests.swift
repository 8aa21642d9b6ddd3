import EarthquakeKit
import Foundation
import Testing

@Suite struct `A map` {
  private func earthquake(
    _ id: String,
    magnitude: Double?,
    longitude: Double,
    latitude: Double,
    depth: Double? = 10
  ) -> Earthquake {
    Earthquake(
      id: id,
      time: Date(timeIntervalSince1970: 0),
      updated: Date(timeIntervalSince1970: 0),
      magnitude: magnitude,
      place: "Place \(id)",
      location: Location(longitude: longitude, latitude: latitude, depth: depth)
    )
  }

  private func content(_ earthquakes: [Earthquake]) -> SVGContent {
    SVGContent(EarthquakeMap(title: "A map", earthquakes: earthquakes).svg())
  }

  private func radii(_ magnitudes: [Double?]) -> [Double] {
    let earthquakes = magnitudes.enumerated().map { index, magnitude in
      earthquake("\(index)", magnitude: magnitude, longitude: Double(index) * 20, latitude: 0)
    }
    return content(earthquakes).elements("circle", in: "events").compactMap { $0.number("r") }
  }

  @Test func `is well-formed and has a circle for each located event`() throws {
    let content = content(try Feed.parse(TinyFeed.data).earthquakes)
    #expect(content.isWellFormed)
    // All but f have a location.
    #expect(content.elements("circle", in: "events").count == 7)
    // Magnitudes 2, 4, 6, 7, 8, the largest of 8.25, and a hollow one, as e has no magnitude.
    #expect(content.elements("circle", in: "legend").count == 7)
    #expect(content.elements.count { $0.name == "circle" } == 14)
  }

  @Test func `is well-formed without events`() {
    let content = content([])
    #expect(content.isWellFormed)
    #expect(content.elements("circle", in: "events").isEmpty)
    #expect(content.hasText("No events"))
  }

  @Test func `says how many events it cannot show`() throws {
    let earthquakes = try Feed.parse(TinyFeed.data).earthquakes
    #expect(
      EarthquakeMap(title: "", earthquakes: earthquakes).subtitle
        == "8 events from 1960-05-22 to 2020-01-07 (UTC), 1 of them without a place and not shown"
    )
  }

  @Test func `escapes what XML would misread`() {
    var odd = earthquake("odd", magnitude: 5, longitude: 0, latitude: 0)
    odd.place = "<Tom & \"Jerry\">\u{1}\u{0}'s"
    let svg = EarthquakeMap(title: "A & B <C>", subtitle: "]]>", earthquakes: [odd]).svg()
    let content = SVGContent(svg)
    #expect(content.isWellFormed)
    #expect(content.hasText("A & B <C>"))
    #expect(content.hasText("]]>"))
    #expect(content.hasText("M 5.0 · <Tom & \"Jerry\">'s"))
  }

  @Test(arguments: [
    // 1,320 units for 360°, from 30° W at 60; 660 units for 180°, from 90° N at 96.
    (150.0, 0.0, 720.0, 426.0), (-30, 90, 60, 96), (-29, -90, 63.67, 756), (180, 45, 830, 261),
    (-180, 45, 830, 261), (0, -45, 170, 591), (540, 0, 830, 426),
  ])
  func `puts events where they were`(
    longitude: Double,
    latitude: Double,
    x: Double,
    y: Double
  ) throws {
    let content = content([
      earthquake("x", magnitude: 1, longitude: longitude, latitude: latitude)
    ])
    let circle = try #require(content.elements("circle", in: "events").first)
    #expect(circle.number("cx") == x)
    #expect(circle.number("cy") == y)
  }

  @Test func `continues a circle that is cut by a side at the other side`() {
    let edge = content([earthquake("x", magnitude: 9, longitude: -29, latitude: 0)])
    #expect(edge.elements("circle", in: "events").count == 1)
    #expect(edge.elements("ellipse", in: "events").map { $0.number("cx") } == [1_383.67])
    let middle = content([earthquake("x", magnitude: 9, longitude: 150, latitude: 0)])
    #expect(middle.elements("ellipse", in: "events").isEmpty)
  }

  @Test func `draws areas in proportion to energy, the largest circle first`() {
    // One magnitude is 10^1.5 = 31.6 times the energy, so 5.62 times the radius.
    let radii = radii([8, 9, 8.5])
    #expect(radii.count == 3)
    #expect(radii == radii.sorted(by: >))
    #expect(radii[0] == 46)
    #expect(abs(radii[0] / radii[2] - 5.62) < 0.02)
    #expect(abs(radii[0] / radii[1] - 2.37) < 0.02)
  }

  @Test func `keeps weak events visible and strong ones in bounds`() {
    // A dot is 1.6 and 0.3 for each magnitude above zero; unknown ones are as magnitude 1.
    #expect(radii([9.5, 1, -2, nil]) == [46, 1.9, 1.9, 1.6])
  }

  @Test func `the map doesn't enlarge the events of a day without large earthquakes`() {
    // As strong as 6.5 would be the largest: 46 × 10^(0.75 × -1.5) is 3.45, a dot of 5 is 3.1.
    #expect(radii([5, 3]) == [3.45, 2.5])
  }

  @Test func `colours by depth and marks what is unknown`() {
    let depths: [Double?] = [0, -3, 70, 300, 700, 6_000, nil]
    let colours = depths.map { depth in
      content([earthquake("x", magnitude: 5, longitude: 0, latitude: 0, depth: depth)])
        .elements("circle", in: "events").first?.attributes["fill"] ?? ""
    }
    #expect(colours[0] == colours[1])
    #expect(colours[4] == colours[5])
    #expect(Set(colours).count == 5)
    let hollow = content([earthquake("x", magnitude: nil, longitude: 0, latitude: 0)])
    #expect(hollow.elements("circle", in: "events").first?.attributes["fill"] == "none")
  }

  @Test func `labels the graticule every 30 degrees`() {
    let content = content([])
    #expect(content.elements("line", in: "graticule").count == 5 + 11)
    #expect(content.elements("text", in: "degrees").count == 7 + 13)
    for label in ["90° N", "0°", "60° S", "180°", "150° E", "30° W"] {
      #expect(content.hasText(label))
    }
  }

  @Test func `lets no two labels touch`() throws {
    let swarm = (0..<40).map { index in
      earthquake(
        "\(index)",
        magnitude: 6 + Double(index) / 40,
        longitude: Double(index % 7),
        latitude: Double(index % 5)
      )
    }
    let labels = content(swarm).elements("text", in: "labels")
    #expect(!labels.isEmpty)
    #expect(labels.count <= 6)
    // Labels of one height of letters stand on lines at least that far apart, or left and right.
    for (index, one) in labels.enumerated() {
      for other in labels[(index + 1)...] {
        let distance = abs(try #require(one.number("y")) - (try #require(other.number("y"))))
        #expect(distance >= 14 || one.attributes["text-anchor"] != other.attributes["text-anchor"])
      }
    }
  }

  @Test func `is the same for the same events in any order`() throws {
    let earthquakes = try Feed.parse(TinyFeed.data).earthquakes
    let map = EarthquakeMap(title: "A map", earthquakes: earthquakes)
    let reversed = EarthquakeMap(title: "A map", earthquakes: earthquakes.reversed())
    #expect(map.svg() == reversed.svg())
  }
}
