import AdvancedOperations
import EarthquakeKit
import TerminalSupport

extension Journal {
  /// The journal as a plain list with one line for each operation.
  ///
  /// - Parameter columns: How many characters a line may have; the reason of a skip is cut to that.
  /// - Returns: The list; each line ends in a newline.
  public func text(width columns: Int) -> String {
    let entries = entries
    let title = "operation"
    let width = max(entries.map(\.name.count).max() ?? 0, title.count)
    let times = ["enqueued", "started", "finished"].map { $0.aligned(to: Self.timeWidth) }
    let head = "  " + title.padded(to: width) + times.joined() + "  outcome"
    let lines = entries.map { entry in
      "  " + entry.name.padded(to: width) + Self.time(entry.enqueued)
        + Self.time(entry.started) + Self.time(entry.finished) + "  " + Self.word(entry.outcome)
    }
    return ([head] + lines).map { "\($0.cut(to: columns))\n" }.joined()
  }

  private static let timeWidth = 11

  private static func time(_ duration: Duration?) -> String {
    guard let duration else { return "-".aligned(to: timeWidth) }
    let milliseconds = Int(duration / .milliseconds(1))
    let fraction = String(milliseconds % 1_000 + 1_000).dropFirst()
    return "\((milliseconds / 1_000).grouped).\(fraction) s".aligned(to: timeWidth)
  }

  /// No more than a line: what went wrong is told as a tree elsewhere.
  private static func word(_ outcome: OperationOutcome?) -> String {
    switch outcome {
    case .succeeded: "succeeded"
    case .skipped(let reason): "skipped: \(reason)"
    case .failed(let failure) where failure.isInherited: "not run"
    case .failed: "failed"
    case .cancelled: "cancelled"
    case nil: "not over"
    }
  }
}
