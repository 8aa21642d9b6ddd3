extension MapDrawing {
  /// Draws what lies under the events: sea, land, and a line with its degrees every 30°.
  mutating func addGraticule() {
    addFrame(fill: "#eaf1f6", stroke: "none")
    addLand()
    let frame = MapScale.frame
    svg.begin("g", ["id": "graticule", "stroke": "#b4c3cf", "stroke-width": "0.8"])
    for latitude in stride(from: -60.0, through: 60, by: 30) {
      let y = MapScale.y(latitude)
      addLine(x1: frame.x, y1: y, x2: frame.right, y2: y)
    }
    for step in 1..<12 {
      let x = frame.x + Double(step) / 12 * frame.width
      addLine(x1: x, y1: frame.y, x2: x, y2: frame.bottom)
    }
    svg.end()
    addFrame(fill: "none", stroke: Self.faint)
    addDegrees()
  }

  /// Adds the rectangle that the map is in.
  mutating func addFrame(fill: String, stroke: String) {
    let frame = MapScale.frame
    svg.add(
      "rect",
      [
        "x": frame.x.short, "y": frame.y.short, "width": frame.width.short,
        "height": frame.height.short, "fill": fill, "stroke": stroke,
      ]
    )
  }

  private mutating func addLine(x1: Double, y1: Double, x2: Double, y2: Double) {
    svg.add("line", ["x1": x1.short, "y1": y1.short, "x2": x2.short, "y2": y2.short])
  }

  private mutating func addDegrees() {
    let frame = MapScale.frame
    svg.begin("g", ["id": "degrees"])
    for latitude in stride(from: -90, through: 90, by: 30) {
      addText(
        Self.degrees(latitude, positive: "N", negative: "S"),
        x: frame.x - 8,
        y: MapScale.y(Double(latitude)) + 5,
        size: 14,
        anchor: "end",
        colour: Self.faint
      )
    }
    for step in 0...12 {
      let longitude = (Int(MapScale.centralMeridian) - 180 + step * 30 + 540) % 360 - 180
      addText(
        Self.degrees(longitude, positive: "E", negative: "W"),
        x: frame.x + Double(step) / 12 * frame.width,
        y: frame.bottom + 20,
        size: 14,
        anchor: "middle",
        colour: Self.faint
      )
    }
    svg.end()
  }

  private static func degrees(_ degrees: Int, positive: String, negative: String) -> String {
    switch degrees {
    case 0, -180: "\(abs(degrees))°"
    case 1...: "\(degrees)° \(positive)"
    default: "\(-degrees)° \(negative)"
    }
  }

  private mutating func addLand() {
    let turn = MapScale.frame.width
    svg.begin("g", ["id": "land", "clip-path": "url(#frame)", "fill": "#d9dfd8"])
    // The map begins in the middle of the outlines, so both halves are drawn, a turn apart.
    for shift in [-turn, 0, turn] {
      for outline in MapLand.outlines {
        let points = outline.map { point in
          let x = MapScale.x(-180) + (point.longitude + 180) / 360 * turn + shift
          return "\(x.short),\(MapScale.y(point.latitude).short)"
        }
        svg.add("polygon", ["points": points.joined(separator: " ")])
      }
    }
    svg.end()
  }
}
