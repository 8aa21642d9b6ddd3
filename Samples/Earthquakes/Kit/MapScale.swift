import Foundation

/// The sizes, colours and positions of a map.
struct MapScale {
  /// The radius of the strongest event's circle.
  static let largestRadius = 46.0

  /// The magnitude whose circle is the largest.
  let reference: Double

  init(strongest: Double?) {
    reference = max(strongest ?? 6.5, 6.5)
  }

  /// The radius of an event: area as energy, but never smaller than a dot.
  func radius(ofMagnitude magnitude: Double?) -> Double {
    guard let magnitude else { return Self.dot(1) }
    // Area is proportional to 10^(1.5 M), so the radius is to 10^(0.75 M).
    return max(Self.dot(magnitude), Self.largestRadius * pow(10, 0.75 * (magnitude - reference)))
  }

  private static func dot(_ magnitude: Double) -> Double {
    1.6 + 0.3 * min(max(magnitude, 0), 10)
  }

  /// The middle of the map.
  static let centralMeridian = 150.0

  static let frame = MapRectangle(x: 60, y: 96, width: 1_320, height: 660)

  /// The horizontal position of a meridian, which may be given with any number of full turns.
  static func x(_ longitude: Double) -> Double {
    let east = (longitude - centralMeridian + 180).truncatingRemainder(dividingBy: 360)
    return frame.x + (east < 0 ? east + 360 : east) / 360 * frame.width
  }

  static func y(_ latitude: Double) -> Double {
    frame.y + (90 - latitude) / 180 * frame.height
  }

  /// The depths at which the colour is given; between them it changes evenly.
  static let depthStops: [(depth: Double, red: Double, green: Double, blue: Double)] = [
    (0, 240, 120, 36), (70, 205, 52, 90), (300, 110, 40, 140), (700, 16, 32, 96),
  ]

  static let unknownColour = "#707880"

  static func colour(ofDepth depth: Double?) -> String {
    guard let depth else { return unknownColour }
    var previous = depthStops[0]
    for stop in depthStops {
      if depth <= stop.depth {
        let span = stop.depth - previous.depth
        let part = span > 0 ? (depth - previous.depth) / span : 0
        return hexadecimal(
          previous.red + part * (stop.red - previous.red),
          previous.green + part * (stop.green - previous.green),
          previous.blue + part * (stop.blue - previous.blue)
        )
      }
      previous = stop
    }
    return hexadecimal(previous.red, previous.green, previous.blue)
  }

  private static func hexadecimal(_ components: Double...) -> String {
    "#"
      + components.map { component in
        let digits = String(Int(component.rounded()), radix: 16)
        return digits.count == 1 ? "0\(digits)" : digits
      }.joined()
  }
}

/// An upright rectangle.
struct MapRectangle: Equatable {
  var x: Double
  var y: Double
  var width: Double
  var height: Double

  var right: Double { x + width }
  var bottom: Double { y + height }

  func moved(by distance: Double) -> MapRectangle {
    MapRectangle(x: x + distance, y: y, width: width, height: height)
  }

  func intersects(_ other: MapRectangle) -> Bool {
    x < other.right && other.x < right && y < other.bottom && other.y < bottom
  }

  func contains(_ other: MapRectangle) -> Bool {
    x <= other.x && other.right <= right && y <= other.y && other.bottom <= bottom
  }
}

/// The circle of one event.
struct MapMark {
  let earthquake: Earthquake
  let x: Double
  let y: Double
  let radius: Double
  let colour: String

  init?(_ earthquake: Earthquake, scale: MapScale) {
    guard let location = earthquake.location else { return nil }
    self.earthquake = earthquake
    x = MapScale.x(location.longitude)
    y = MapScale.y(location.latitude)
    radius = scale.radius(ofMagnitude: earthquake.magnitude)
    colour = MapScale.colour(ofDepth: location.depth)
  }

  var bounds: MapRectangle {
    MapRectangle(x: x - radius, y: y - radius, width: 2 * radius, height: 2 * radius)
  }
}
