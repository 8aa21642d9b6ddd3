import Foundation
import TerminalSupport

/// A map of the world with a circle for each event, drawn as SVG.
///
/// The projection is plate carrée: degrees become equal lengths in both directions. The Pacific is
/// in the middle, so that its ring of earthquakes is not cut; the sides are at 30° W. Land is only
/// hinted at, by outlines of a few whole degrees.
///
/// **Size.** Seismic energy grows as 10^(1.5 *M*) (Gutenberg and Richter, 1956). The area of a
/// circle is proportional to that energy, relative to the strongest event on the map, whose circle
/// has a radius of 46 units on a map 1,320 units wide, so that not even magnitude 9 covers the
/// world. Where no event reaches magnitude 6.5, the scale stays that of 6.5, so that a quiet day
/// looks quiet. One magnitude less is a radius of about a sixth, hence circles soon would vanish: none
/// is smaller than a dot, which grows slowly with the magnitude, from a radius of 1.6 at zero by
/// 0.3 per magnitude. Events of unknown magnitude are hollow dots.
///
/// **Colour** is depth, from orange at the surface over purple to dark blue at 700 km. Large
/// circles are drawn first and everything is translucent, so that small ones stay visible.
///
/// ```swift
/// let map = EarthquakeMap(title: "All events", earthquakes: try database.earthquakes())
/// try Data(map.svg().utf8).write(to: file)
/// ```
public struct EarthquakeMap: Sendable {
  /// The large line above the map.
  public var title: String

  /// The small line under the title.
  public var subtitle: String

  /// The events to draw; those without a location are only counted in the subtitle.
  public var earthquakes: [Earthquake]

  /// Creates a map.
  ///
  /// - Parameters:
  ///   - title: The large line above the map.
  ///   - subtitle: The small line under it, or `nil` for one that says how many events there are,
  ///     from when to when, and how many of them have no place.
  ///   - earthquakes: The events, in any order.
  public init(title: String, subtitle: String? = nil, earthquakes: [Earthquake]) {
    self.title = title
    self.subtitle = subtitle ?? Self.summary(of: earthquakes)
    self.earthquakes = earthquakes
  }

  /// Draws the map.
  ///
  /// The events are the `circle` elements of the group `events`, one for each located event, with
  /// a `title` that viewers show when the pointer rests on it.
  ///
  /// - Returns: A whole SVG document; the same one for the same events in the same order.
  /// - Complexity: O(*n* log *n*) in the number of events.
  public func svg() -> String {
    let located = earthquakes.filter { $0.location != nil }
    let scale = MapScale(strongest: located.compactMap(\.magnitude).max())
    // The largest first, so that they hide nothing; the rest only makes the order certain.
    let marks = located.compactMap { MapMark($0, scale: scale) }
      .sorted { ($1.radius, $0.earthquake.id) < ($0.radius, $1.earthquake.id) }
    var drawing = MapDrawing()
    drawing.begin(title: title, subtitle: subtitle)
    drawing.addGraticule()
    drawing.addEvents(marks)
    drawing.addLabels(of: marks)
    drawing.addLegend(scale: scale, marks: marks)
    return drawing.finish()
  }

  private static func summary(of earthquakes: [Earthquake]) -> String {
    guard let first = earthquakes.map(\.time).min(), let last = earthquakes.map(\.time).max() else {
      return "No events"
    }
    let unplaced = earthquakes.count { $0.location == nil }
    let days = [first, last].map { String($0.isoSeconds.prefix(10)) }
    let span = days[0] == days[1] ? "on \(days[0])" : "from \(days[0]) to \(days[1])"
    return earthquakes.count.counted("event") + " \(span) (UTC)"
      + (unplaced == 0 ? "" : ", \(unplaced.grouped) of them without a place and not shown")
  }
}
