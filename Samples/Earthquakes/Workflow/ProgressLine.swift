import EarthquakeKit
import TerminalSupport

/// How far a workflow is, as one line of text.
public struct ProgressLine: Sendable, CustomStringConvertible {
  /// The line, no longer than the width allows.
  public let description: String

  /// How many columns the bar has at most.
  static let widestBar = 30

  /// Sets a line.
  ///
  /// - Parameters:
  ///   - fraction: How much is done, from 0 to 1.
  ///   - executing: The names of the steps that execute.
  ///   - width: The columns of the terminal. One is left free, because some terminals go to the next
  ///     line when the last one is written to.
  public init(fraction: Double, executing: [String], width: Int) {
    let fraction = min(max(fraction, 0), 1)
    let percent = "\(Int(fraction * 100))".aligned(to: 3) + " %"
    let steps = executing.isEmpty ? "waiting" : executing.joined(separator: ", ")
    let room = max(width - 1, 0)
    // The bar is the first to go: a name and a number say more.
    let bar = min(Self.widestBar, room - percent.count - steps.count - 2)
    let parts = bar < 4 ? [percent, steps] : [Self.bar(fraction, columns: bar), percent, steps]
    description = String(parts.joined(separator: " ").cut(to: room).prefix(room))
  }

  private static func bar(_ fraction: Double, columns: Int) -> String {
    let full = Int((fraction * Double(columns)).rounded(.down))
    return String(repeating: "━", count: full) + String(repeating: "┄", count: columns - full)
  }
}
