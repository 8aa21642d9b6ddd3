/// The line of an arrow, as the data of an SVG path.
struct ArrowPath {
  static let tipLength = 7.0
  /// The part of the tip that the line doesn't cover.
  static let tip = 6.0
  /// The distance from a column at which arrows turn.
  static let turn = 10.0

  private(set) var text: String
  private var (x, y): (Double, Double)

  init(x: Double, y: Double) {
    (self.x, self.y) = (x, y)
    text = "M\(PictureElements.number(x)) \(PictureElements.number(y))"
  }

  /// Begins behind a tip that points to the left.
  mutating func leaveTip() { self = ArrowPath(x: x + Self.tip, y: y) }

  /// Continues to the right at the same height.
  mutating func lead(to x: Double) {
    guard x > self.x else { return }
    self.x = x
    text += "H\(PictureElements.number(x))"
  }

  /// Continues to the right, and then up or down.
  mutating func turn(at x: Double, to y: Double) {
    lead(to: x)
    self.y = y
    text += "V\(PictureElements.number(y))"
  }

  /// Continues to a point, horizontally at both ends.
  mutating func curve(to x: Double, y: Double) {
    let middle = PictureElements.number((self.x + x) / 2)
    let (from, to) = (PictureElements.number(self.y), PictureElements.number(y))
    text += "C\(middle) \(from) \(middle) \(to) \(PictureElements.number(x)) \(to)"
    (self.x, self.y) = (x, y)
  }
}
