import TerminalSupport

extension MapDrawing {
  /// How many of the strongest events get a label.
  private static let labelCount = 6

  private static let labelSize = 14.0

  /// Names the strongest events, where there is room for it.
  ///
  /// A label stands beside its circle, inside of the map, and touches no other label and no large
  /// circle, except smaller ones that its own circle lies under. Of six sides it takes the one
  /// where it covers the fewest circles; where none is free, it is left out.
  mutating func addLabels(of marks: [MapMark]) {
    let strongest = marks.filter { $0.earthquake.magnitude != nil }
      .sorted {
        ($1.earthquake.magnitude ?? 0, $0.earthquake.id)
          < ($0.earthquake.magnitude ?? 0, $1.earthquake.id)
      }
      .prefix(Self.labelCount)
    var taken: [MapRectangle] = []
    svg.begin(
      "g",
      [
        "id": "labels", "paint-order": "stroke", "stroke": "#ffffff", "stroke-width": "3",
        "stroke-linejoin": "round",
      ]
    )
    for mark in strongest {
      let text = Self.label(of: mark.earthquake)
      guard let spot = Self.spot(for: text, beside: mark, among: marks, avoiding: taken) else {
        continue
      }
      taken.append(spot)
      let isRight = spot.x > mark.x
      addText(
        text,
        x: isRight ? spot.x : spot.right,
        y: spot.y + Self.labelSize,
        size: Self.labelSize,
        anchor: isRight ? "start" : "end"
      )
    }
    svg.end()
  }

  private static func label(of earthquake: Earthquake) -> String {
    let magnitude = "M \(earthquake.magnitude?.tenths ?? "?")"
    return earthquake.place.map { "\(magnitude) · \($0.cut(to: 40))" } ?? magnitude
  }

  private static func spot(
    for text: String,
    beside mark: MapMark,
    among marks: [MapMark],
    avoiding taken: [MapRectangle]
  ) -> MapRectangle? {
    let obstacles = taken + marks.filter { $0.radius > 5 && !$0.isUpon(mark) }.map(\.bounds)
    let free = spots(for: text, beside: mark).filter { spot in
      MapScale.frame.contains(spot) && !obstacles.contains { $0.intersects(spot) }
    }
    let covered = free.map { spot in marks.count { $0.bounds.intersects(spot) } }
    return covered.indices.min { covered[$0] < covered[$1] }.map { free[$0] }
  }

  /// The rectangles that a label could take, the best first; wide enough for any usual font.
  private static func spots(for text: String, beside mark: MapMark) -> [MapRectangle] {
    let width = Double(text.count) * labelSize * 0.6
    let height = labelSize + 6
    let near = mark.radius + 6
    let slant = mark.radius * 0.7 + 3
    return [
      (mark.x + near, mark.y - height / 2),
      (mark.x - near - width, mark.y - height / 2),
      (mark.x + slant, mark.y - slant - height),
      (mark.x + slant, mark.y + slant),
      (mark.x - slant - width, mark.y - slant - height),
      (mark.x - slant - width, mark.y + slant),
    ].map { MapRectangle(x: $0.0, y: $0.1, width: width, height: height) }
  }
}

extension MapMark {
  /// Whether the circle is no larger than another one and has its middle in it.
  fileprivate func isUpon(_ other: MapMark) -> Bool {
    let across = x - other.x
    let down = y - other.y
    return radius <= other.radius && across * across + down * down <= other.radius * other.radius
  }
}
