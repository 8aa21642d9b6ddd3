import TerminalSupport

/// The SVG of a map while it is being drawn, from the bottom layer to the top one.
struct MapDrawing {
  static let width = 1_440.0
  static let height = 920.0
  static let ink = "#22303c"
  static let faint = "#5c6b78"

  var svg = SVGWriter()

  /// Adds a line of text; `size` is in units of the drawing.
  mutating func addText(
    _ text: String,
    x: Double,
    y: Double,
    size: Double,
    anchor: String = "start",
    weight: String = "normal",
    colour: String = Self.ink
  ) {
    svg.add(
      "text",
      [
        "x": x.short, "y": y.short, "font-size": size.short, "text-anchor": anchor,
        "font-weight": weight, "fill": colour,
      ],
      text: text
    )
  }

  /// Begins the document with its definitions and the lines above the map.
  mutating func begin(title: String, subtitle: String) {
    svg.begin(
      "svg",
      [
        "xmlns": "http://www.w3.org/2000/svg",
        "width": Self.width.short,
        "height": Self.height.short,
        "viewBox": "0 0 \(Self.width.short) \(Self.height.short)",
        "font-family": "Helvetica Neue, Helvetica, Arial, DejaVu Sans, sans-serif",
      ]
    )
    svg.add("title", text: title)
    svg.begin("defs")
    svg.begin("clipPath", ["id": "frame"])
    addFrame(fill: "#000000", stroke: "none")
    svg.end()
    svg.begin("linearGradient", ["id": "depth"])
    for (index, stop) in MapScale.depthStops.enumerated() {
      let part = Double(index) / Double(MapScale.depthStops.count - 1)
      svg.add(
        "stop",
        ["offset": part.short, "stop-color": MapScale.colour(ofDepth: stop.depth)]
      )
    }
    svg.end()
    svg.end()
    svg.add("rect", ["width": "100%", "height": "100%", "fill": "#ffffff"])
    let left = MapScale.frame.x
    addText(title.cut(to: 76), x: left, y: 48, size: 30, weight: "bold")
    addText(subtitle.cut(to: 140), x: left, y: 76, size: 17, colour: Self.faint)
  }

  /// Draws the circles, the largest first.
  mutating func addEvents(_ marks: [MapMark]) {
    svg.begin("g", ["id": "events", "clip-path": "url(#frame)"])
    for mark in marks {
      let look = Look(mark)
      svg.add(
        "circle",
        [
          "cx": mark.x.short, "cy": mark.y.short, "r": mark.radius.short,
          "fill": look.fill, "fill-opacity": look.opacity,
          "stroke": mark.colour, "stroke-width": look.strokeWidth,
        ],
        title: Self.title(of: mark.earthquake)
      )
      // What reaches over one side of the map continues at the other; as an ellipse, because
      // there is one circle for each event.
      for turn in [-MapScale.frame.width, MapScale.frame.width] {
        guard mark.bounds.moved(by: turn).intersects(MapScale.frame) else { continue }
        svg.add(
          "ellipse",
          [
            "cx": (mark.x + turn).short, "cy": mark.y.short,
            "rx": mark.radius.short, "ry": mark.radius.short,
            "fill": look.fill, "fill-opacity": look.opacity,
            "stroke": mark.colour, "stroke-width": look.strokeWidth,
          ]
        )
      }
    }
    svg.end()
  }

  private static func title(of earthquake: Earthquake) -> String {
    let magnitude = earthquake.magnitude.map { "M \($0.tenths)" } ?? "unknown magnitude"
    let depth = earthquake.location?.depth.map { "\($0.tenths) km deep" } ?? "unknown depth"
    return [magnitude, earthquake.place ?? "unknown place", earthquake.time.isoSeconds, depth]
      .joined(separator: ", ")
  }

  /// The document.
  mutating func finish() -> String {
    svg.end()
    return svg.document()
  }
}

/// How a circle is painted: translucent, or hollow if its magnitude is not known.
private struct Look {
  let fill: String
  let opacity: String
  let strokeWidth: String

  init(_ mark: MapMark) {
    let isKnown = mark.earthquake.magnitude != nil
    fill = isKnown ? mark.colour : "none"
    opacity = mark.radius > 6 ? "0.45" : "0.65"
    strokeWidth = isKnown ? "0.7" : "1.2"
  }
}
