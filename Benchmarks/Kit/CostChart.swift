/// A picture of costs over sizes: a panel for each workload, a line for each contestant, both axes
/// logarithmic, so that what is linear is level and a factor is the same distance everywhere.
package struct CostChart: Sendable {
  package struct Line: Sendable {
    package var contestant: String
    /// Sizes and costs; costs in seconds per operation.
    package var points: [(size: Double, cost: Double)]

    package init(contestant: String, points: [(size: Double, cost: Double)]) {
      self.contestant = contestant
      self.points = points
    }
  }

  package struct Panel: Sendable {
    package var title: String
    /// What the horizontal axis shows.
    package var axis: String
    /// How a number on that axis is written.
    package var label: @Sendable (Double) -> String
    package var lines: [Line]

    package init(
      title: String,
      axis: String = "operations",
      label: @escaping @Sendable (Double) -> String = { Self.sizeLabel($0) },
      lines: [Line]
    ) {
      self.title = title
      self.axis = axis
      self.label = label
      self.lines = lines
    }

    /// `10`, `1k`, `500k`, `1M`.
    package static func sizeLabel(_ size: Double) -> String {
      if size >= 999_999 { return "\(short(size / 1_000_000))M" }
      return size >= 999.9 ? "\(short(size / 1_000))k" : short(size)
    }

    private static func short(_ value: Double) -> String {
      let rounded = (value * 10).rounded() / 10
      return rounded == rounded.rounded() ? String(Int(rounded)) : String(rounded)
    }
  }

  package var title: String
  package var subtitle: String
  package var panels: [Panel]

  package init(title: String, subtitle: String, panels: [Panel]) {
    self.title = title
    self.subtitle = subtitle
    self.panels = panels
  }

  /// The picture as SVG.
  package func svg() -> String {
    var drawing = CostChartDrawing(chart: self)
    return drawing.draw()
  }
}
