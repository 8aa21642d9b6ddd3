import AdvancedOperations
public import AdvancedOperationsVisualization
import TerminalSupport

extension OperationTimeline {
  /// The timeline as a plain list with one line for each operation.
  ///
  /// - Parameter columns: How many characters a line may have; the reason of a skip is cut to that.
  /// - Returns: The list; each line ends in a newline.
  public func text(width columns: Int) -> String {
    let title = "operation"
    let width = max(spans.map(\.name.count).max() ?? 0, title.count)
    let times = ["enqueued", "started", "finished"].map { $0.aligned(to: Self.timeWidth) }
    let head = "  " + title.padded(to: width) + times.joined() + "  outcome"
    let lines = spans.map { span in
      "  " + span.name.padded(to: width) + time(span.enqueued) + time(span.started)
        + time(span.ended) + "  " + Self.word(span.outcome)
    }
    return ([head] + lines).map { "\($0.cut(to: columns))\n" }.joined()
  }

  private static let timeWidth = 11

  /// A time of the clock, counted from the first one of the timeline.
  private func time(_ time: Duration?) -> String {
    guard let time else { return "-".aligned(to: Self.timeWidth) }
    let milliseconds = Int((time - begin) / .milliseconds(1))
    let fraction = String(milliseconds % 1_000 + 1_000).dropFirst()
    return "\((milliseconds / 1_000).grouped).\(fraction) s".aligned(to: Self.timeWidth)
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
