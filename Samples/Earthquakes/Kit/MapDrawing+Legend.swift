extension MapDrawing {
  private static let baseline = 884.0

  /// Explains sizes and colours, in the strip under the map.
  mutating func addLegend(scale: MapScale, marks: [MapMark]) {
    svg.begin("g", ["id": "legend"])
    addSizes(scale: scale, hasUnknown: marks.contains { $0.earthquake.magnitude == nil })
    addDepths(hasUnknown: marks.contains { $0.earthquake.location?.depth == nil })
    svg.end()
  }

  /// The magnitudes whose circles are shown: whole ones, and the largest circle of all.
  private static func steps(of scale: MapScale) -> [Double] {
    let whole = scale.reference.rounded(.down)
    let steps = [whole - 6, whole - 4, whole - 2, whole - 1, whole].filter { $0 >= 0 }
    return whole == scale.reference ? steps : steps + [scale.reference]
  }

  private mutating func addSizes(scale: MapScale, hasUnknown: Bool) {
    let left = MapScale.frame.x
    addText("Magnitude", x: left, y: Self.baseline - 68, size: 16, weight: "bold")
    for (line, text) in ["circle area grows as energy,", "never smaller than a dot"].enumerated() {
      addText(
        text,
        x: left,
        y: Self.baseline - 45 + Double(line) * 18,
        size: 13,
        colour: Self.faint
      )
    }
    var x = left + 230
    for magnitude in Self.steps(of: scale) {
      let radius = scale.radius(ofMagnitude: magnitude)
      x += max(radius, 14)
      addSample(x: x, radius: radius, label: magnitude.short, fill: "#a9b5bf")
      x += max(radius, 14) + 18
    }
    if hasUnknown {
      addSample(x: x + 28, radius: scale.radius(ofMagnitude: nil), label: "unknown", fill: "none")
    }
  }

  private mutating func addSample(x: Double, radius: Double, label: String, fill: String) {
    svg.add(
      "circle",
      [
        "cx": x.short, "cy": (Self.baseline - radius).short, "r": radius.short, "fill": fill,
        "fill-opacity": "0.55", "stroke": Self.faint, "stroke-width": "0.8",
      ]
    )
    addText(label, x: x, y: Self.baseline + 20, size: 14, anchor: "middle")
  }

  private mutating func addDepths(hasUnknown: Bool) {
    let left = 820.0
    let width = 420.0
    let top = Self.baseline - 34
    addText("Depth", x: left, y: Self.baseline - 68, size: 16, weight: "bold")
    addSwatch(x: left, width: width, fill: "url(#depth)")
    let stops = MapScale.depthStops
    for (index, stop) in stops.enumerated() {
      let x = left + Double(index) / Double(stops.count - 1) * width
      svg.add(
        "line",
        [
          "x1": x.short, "y1": top.short, "x2": x.short, "y2": (top + 24).short,
          "stroke": Self.faint,
        ]
      )
      addText("\(stop.depth.short) km", x: x, y: top + 39, size: 14, anchor: "middle")
    }
    for (index, depthClass) in [DepthClass.shallow, .intermediate, .deep].enumerated() {
      let x = left + (Double(index) + 0.5) / 3 * width
      addText(
        depthClass.rawValue,
        x: x,
        y: top - 7,
        size: 13,
        anchor: "middle",
        colour: Self.faint
      )
    }
    if hasUnknown {
      let x = left + width + 90
      addSwatch(x: x - 18, width: 36, fill: MapScale.unknownColour)
      addText("unknown", x: x, y: top + 39, size: 14, anchor: "middle")
    }
  }

  private mutating func addSwatch(x: Double, width: Double, fill: String) {
    svg.add(
      "rect",
      [
        "x": x.short, "y": (Self.baseline - 34).short, "width": width.short, "height": "18",
        "fill": fill, "fill-opacity": "0.8",
      ]
    )
  }
}
