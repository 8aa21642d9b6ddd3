import AdvancedOperations

/// The legend of a timeline's picture, with the marks that occur in the picture.
struct TimelineLegend {
  enum Mark: Hashable {
    case wait(OperationTimeline.Phase.Kind)
    case bar(OperationStatus)
    /// The end of an operation that never executed.
    case diamond
    /// The end of an attempt that was followed by another attempt.
    case retry
    /// The end of an attempt whose announced next attempt didn't begin.
    case failedAttempt
    case critical
    case slack

    fileprivate static let all: [Mark] =
      [.wait(.dependencies), .wait(.conditions), .wait(.turn)]
      + OperationStatus.allCases.map { .bar($0) } + [.diamond, .retry, .failedAttempt]
      + [.critical, .slack]

    fileprivate var text: String {
      switch self {
      case .wait(.dependencies): "waiting for dependencies"
      case .wait(.conditions): "evaluating conditions"
      case .wait(.turn): "waiting for a slot or claim"
      case .bar(let status): status.rawValue
      case .diamond: "ended without executing"
      case .retry: "attempt failed, retried"
      case .failedAttempt: "attempt failed, ended in the delay"
      case .critical: "critical path"
      case .slack: "slack"
      }
    }
  }

  static let fontSize = 11.0
  private static let lineHeight = 18.0

  /// The marks with their places.
  private let entries: [(mark: Mark, x: Double, line: Int)]
  /// The height of the legend in addition to its first line.
  let extraHeight: Double

  /// - Parameters:
  ///   - marks: The marks that occur in the picture.
  ///   - width: The greatest width of a line.
  init(_ marks: Set<Mark>, width: Double) {
    var entries: [(mark: Mark, x: Double, line: Int)] = []
    var (next, line) = (24.0, 0)
    for mark in Mark.all where marks.contains(mark) {
      let room = 34 + PictureText.width(of: mark.text, size: Self.fontSize)
      if next > 24, next + room - 15 > width {
        (next, line) = (24, line + 1)
      }
      entries.append((mark, next, line))
      next += room
    }
    self.entries = entries
    extraHeight = Self.lineHeight * Double(line)
  }

  /// Draws the legend.
  ///
  /// - Parameters:
  ///   - elements: The elements of the picture.
  ///   - baseline: The baseline of the first line.
  func draw(into elements: inout PictureElements, baseline: Double) {
    for (mark, x, line) in entries {
      let y = baseline + Self.lineHeight * Double(line)
      switch mark {
      case .wait(let kind): elements.wait(kind, x, y - 6, 14)
      case .bar(let status):
        elements.rectangle(x, y - 10, 14, 12, status.color, PictureElements.plainFrame)
      case .diamond: elements.diamond(x + 7, y - 10, "#ffffff")
      case .retry, .failedAttempt:
        let color = OperationStatus.succeeded.color
        elements.rectangle(x, y - 10, 14, 12, color, PictureElements.plainFrame)
        elements.failure(x + 7, y - 10, y + 2, isFollowed: mark == .retry)
      case .critical:
        elements.rectangle(x, y - 10, 14, 12, "none", PictureElements.criticalFrame)
      case .slack: elements.slack(x - 1, x + 15, y - 4)
      }
      let weight = mark == .critical ? " font-weight=\"bold\"" : ""
      let size = " font-size=\"\(PictureElements.number(Self.fontSize))\""
      elements.label(mark.text, x + 19, y, weight + size)
    }
  }
}

/// The marks of the chart, which are also in its legend.
extension PictureElements {
  static let plainFrame = " stroke=\"#666666\" stroke-width=\"0.7\""
  static let criticalFrame = " class=\"critical\" stroke=\"#a01010\" stroke-width=\"1.5\""

  mutating func wait(
    _ kind: OperationTimeline.Phase.Kind,
    _ x: Double,
    _ y: Double,
    _ width: Double
  ) {
    let (color, style) =
      switch kind {
      case .dependencies: ("#c9c9c9", " class=\"dependencies\"")
      case .conditions: ("#e8b93c", "")
      case .turn: ("#7fa8d8", "")
      }
    rectangle(x, y, width, 4, color, style)
  }

  mutating func diamond(_ x: Double, _ y: Double, _ color: String) {
    let place = "M\(Self.number(x)) \(Self.number(y))"
    add("<path d=\"\(place) l6 6 l-6 6 l-6 -6 z\" fill=\"\(color)\"\(Self.plainFrame)/>")
  }

  /// Adds the end of a failed attempt.
  mutating func failure(_ x: Double, _ top: Double, _ bottom: Double, isFollowed: Bool) {
    let style = isFollowed ? "" : " stroke-dasharray=\"3 2\""
    line((x, top), (x, bottom), "#a01010", " class=\"retry\" stroke-width=\"2\"" + style)
  }

  mutating func slack(_ begin: Double, _ end: Double, _ y: Double) {
    line((begin, y), (end, y), "#333333", " class=\"slack\" stroke-dasharray=\"2 2\"")
  }
}
