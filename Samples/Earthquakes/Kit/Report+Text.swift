import TerminalSupport

extension Report {
  /// The shortest line, in characters, that the text can be set in.
  public static let minimumWidth = 40

  /// The report for people, in lines that end in newlines.
  ///
  /// The bars of both charts share the longest bar's scale each: it fills the width, and whatever
  /// is there at all has a bar. On lines of fewer than 60 characters, depths of the strongest are left
  /// out, and what stands beside each other otherwise is on lines of its own.
  ///
  /// - Parameters:
  ///   - width: The number of characters in a line; below ``minimumWidth`` that many are used.
  ///   - colour: Whether to use ANSI colours, for terminals only.
  /// - Returns: The text. No line has more characters than the width.
  public func text(width: Int, colour: Bool) -> String {
    let page = Page(width: max(width, Self.minimumWidth), colour: colour)
    var lines = [page.bold("Earthquakes")]
    let deleted =
      deletedCount == 0 ? [] : ["  \(deletedCount.counted("deleted event")), not counted"]
    if count == 0 {
      lines += page.lines("  The database holds no earthquakes yet.", "Import a feed first.")
      lines += deleted
    } else {
      lines.append("  " + count.counted("event"))
      lines += page.lines(
        "  from \(firstTime?.isoSeconds ?? "?")",
        "to \(lastTime?.isoSeconds ?? "?")"
      )
      lines += deleted
      lines += section("Types", page, typeLines)
      lines += section("Strongest", page, strongestLines)
      lines += section("Magnitudes", page, magnitudeLines)
      lines += section("Depths", page, depthLines)
    }
    lines += section("Feeds", page, feedLines)
    return lines.map { "\($0)\n" }.joined()
  }

  private func section(_ title: String, _ page: Page, _ lines: (Page) -> [String]) -> [String] {
    let lines = lines(page)
    return lines.isEmpty ? [] : ["", page.bold(title)] + lines
  }

  private func typeLines(_ page: Page) -> [String] {
    let types = countsByType.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
      .map { ($0.key.printable(), $0.value) }
    let nameWidth = min(types.map(\.0.count).max() ?? 0, page.width - 16)
    return types.map { name, count in
      "  \(name.cut(to: nameWidth).padded(to: nameWidth))  \(count.grouped.aligned(to: 9))"
    }
  }

  private func strongestLines(_ page: Page) -> [String] {
    guard !strongest.isEmpty else { return ["  no event of known magnitude"] }
    return strongest.map { earthquake in
      let magnitude = (earthquake.magnitude?.tenths ?? "?").aligned(to: 4)
      let depth =
        earthquake.location?.depth.map { "\($0.rounded().short) km deep" } ?? "unknown depth"
      let column = page.isNarrow ? "" : "\(depth.aligned(to: 13))  "
      let start = "  \(magnitude)  \(earthquake.time.isoSeconds)  \(column)"
      let place = earthquake.place?.printable() ?? "unknown place"
      return "  \(page.bold(magnitude))\(start.dropFirst(2 + magnitude.count))"
        + place.cut(to: page.width - start.count)
    }
  }

  private func magnitudeLines(_ page: Page) -> [String] {
    var rows = magnitudeBins.map { bin in
      ChartRow(label: "\("\(bin.from)".aligned(to: 3)) to <\(bin.below)", count: bin.count)
    }
    rows.append(ChartRow(label: "unknown", count: unknownMagnitudes))
    return page.chart(rows)
  }

  private func depthLines(_ page: Page) -> [String] {
    page.chart(
      DepthClass.allCases.map { depthClass in
        ChartRow(
          label: depthClass.rawValue.padded(to: 14) + depthClass.limits,
          count: depths[depthClass],
          colour: depthClass.terminalColour
        )
      }
    )
  }

  private func feedLines(_ page: Page) -> [String] {
    feeds.flatMap { feed in
      ["  \(feed.title.printable().cut(to: page.width - 2))"]
        + page.lines(
          "    generated \(feed.generated.isoSeconds)",
          "with \(feed.count.counted("event"))"
        )
        + ["    \(feed.url.printable().cutInside(to: page.width - 4))"]
    }
  }
}

/// One bar of a chart.
private struct ChartRow {
  var label: String
  var count: Int
  var colour = 36
}

/// How a text is set.
private struct Page {
  var width: Int
  var colour: Bool

  /// Whether a line has no room for what usually stands on one.
  var isNarrow: Bool { width < 60 }

  /// A line, or two with the same margin where it would be too long.
  func lines(_ start: String, _ rest: String) -> [String] {
    let line = "\(start) \(rest)"
    return line.count <= width ? [line] : [start, "\(start.prefix { $0 == " " })\(rest)"]
  }

  func bold(_ text: String) -> String {
    paint(text, 1)
  }

  func paint(_ text: String, _ code: Int) -> String {
    colour && !text.isEmpty ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text
  }

  func chart(_ rows: [ChartRow]) -> [String] {
    let labelWidth = rows.map(\.label.count).max() ?? 0
    let countWidth = rows.map(\.count.grouped.count).max() ?? 0
    let most = rows.map(\.count).max() ?? 0
    let room = width - labelWidth - countWidth - 6
    return rows.map { row in
      let start =
        "  \(row.label.padded(to: labelWidth))  \(row.count.grouped.aligned(to: countWidth))"
      let bar = bar(row.count, of: most, room: room)
      return bar.isEmpty ? start : "\(start)  \(paint(bar, row.colour))"
    }
  }

  /// A bar of blocks to an eighth of a column; at least one eighth for what is there at all.
  private func bar(_ count: Int, of most: Int, room: Int) -> String {
    guard count > 0, most > 0 else { return "" }
    let eighths = max(1, Int((Double(count) / Double(most) * Double(room * 8)).rounded()))
    let rest = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8]
    return String(repeating: "█", count: eighths / 8) + rest
  }
}

extension DepthClass {
  fileprivate var terminalColour: Int {
    switch self {
    case .shallow: 33
    case .intermediate: 35
    case .deep: 34
    case .unknown: 37
    }
  }
}
