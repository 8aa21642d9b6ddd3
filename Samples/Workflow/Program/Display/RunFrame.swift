import TerminalSupport
import WorkflowDocument

/// What stands at the bottom of the terminal while a run goes on: a pure function of its state.
enum RunFrame {
  /// How many columns the bar has at most.
  static let widestBar = 30
  /// How many waiting steps are shown by name.
  static let namesOfWaiting = 3

  /// The lines, none wider than the terminal less one column, and fewer than it has rows.
  static func lines(_ view: RunView, now: Duration, width: Int, height: Int) -> [StyledLine] {
    let (room, rows) = (max(width - 1, 1), max(height - 1, 1))
    // The progress is the last to go, then what executes.
    let progress = progress(view, now: now, columns: room)
    let waiting = Array(waiting(view).prefix(max(rows - 2, 0)))
    let executing = executing(view, now: now, columns: room, rows: rows - 1 - min(1, waiting.count))
    let free = rows - 1 - executing.count
    return (executing + waiting.prefix(max(free, 0)) + [progress]).map { $0.cut(toColumns: room) }
  }

  private static func executing(
    _ view: RunView,
    now: Duration,
    columns: Int,
    rows: Int
  ) -> [StyledLine] {
    if rows <= 0 { return [] }
    let undone = view.rollingBack.map { StyledLine("↶ ", .yellow) + StyledLine("undoes \($0)") }
    let shown = view.executing.prefix(max(rows - undone.count, 0))
    let names = shown.map { view.names[$0.step] }
    let nameWidth = min(names.map(\.columnCount).max() ?? 0, max(columns / 3, 8))
    var lines = undone
    for (running, name) in zip(shown, names) {
      var line = StyledLine("▸ ", .cyan)
      line.add(name.cut(toColumns: nameWidth).padded(toColumns: nameWidth), .bold)
      line.add(" \((now - running.since).ticking.aligned(to: 5))")
      if running.attempt > 1 { line.add("  attempt \(running.attempt)", .yellow) }
      if let node = running.node { line.add("  on \(node)", .faint) }
      if !running.line.isEmpty { line.add("  \(running.line)", .faint) }
      lines.append(line)
    }
    let hidden = undone.count + view.executing.count - rows
    if lines.count > rows || hidden > 0, rows > 1 {
      lines = Array(lines.prefix(rows - 1))
      lines.append(StyledLine("  … and \((hidden + 1).grouped) more run", .faint))
    }
    return Array(lines.prefix(rows))
  }

  private static func waiting(_ view: RunView) -> [StyledLine] {
    let count = view.waiting
    if count == 0 { return [] }
    var causes = view.waitingByCause.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
      .map { ($0.value, $0.key) }
    if view.waitingForSteps > 0 { causes.insert((view.waitingForSteps, "other steps"), at: 0) }
    let parts = causes.prefix(3).map { count, cause in
      let isPlural = cause == RunView.turn && count > 1
      return "\(count.grouped) for \(isPlural ? "their turn" : cause)"
    }
    let more = causes.dropFirst(3).reduce(0) { $0 + $1.0 }
    let rest = more > 0 ? ", \(more.grouped) for others" : ""
    let verb = count == 1 ? "waits" : "wait"
    var lines = [StyledLine("  \(count.grouped) \(verb): \(parts.joined(separator: ", "))\(rest)")]
    for step in firstWaiting(view) {
      lines.append(StyledLine("    \(view.names[step]) ", .faint) + cause(of: step, in: view))
    }
    return lines
  }

  /// The first that wait for something other than steps, then the first of all.
  private static func firstWaiting(_ view: RunView) -> [Int] {
    var (others, behind): ([Int], [Int]) = ([], [])
    for (step, phase) in view.phases.enumerated() {
      guard case .waiting(let cause) = phase else { continue }
      // Steps whose turn comes next are no news.
      if let cause, !cause.hasPrefix(RunView.turn) { others.append(step) }
      if cause == nil, behind.count < namesOfWaiting { behind.append(step) }
      if others.count == namesOfWaiting { return others }
    }
    return Array((others + behind).prefix(namesOfWaiting))
  }

  private static func cause(of step: Int, in view: RunView) -> StyledLine {
    if case .waiting(let cause?) = view.phases[step] {
      return StyledLine("for \(withoutTime(cause))", .faint)
    }
    let needs = view.openNeeds(of: step)
    let names = needs.prefix(2).map { view.names[$0] }.joined(separator: ", ")
    let more = needs.count > 2 ? " and \((needs.count - 2).grouped) more" : ""
    return StyledLine("for \(names)\(more)", .faint)
  }

  /// Without `, for 200 ms` or `, which lets the next start in 9.8 s` at the end, which was so when it was
  /// said.
  private static func withoutTime(_ cause: String) -> String {
    guard let comma = cause.lastIndex(of: ","),
      [", for ", ", which lets the next start in "].contains(where: cause[comma...].hasPrefix)
    else { return cause }
    return String(cause[..<comma])
  }

  private static func progress(_ view: RunView, now: Duration, columns: Int) -> StyledLine {
    let all = view.names.count
    let ended = view.ended
    let running = view.executing.map { (view.names[$0.step], now - $0.since) }
    let estimated = view.estimate.fraction(executing: running)
    let fraction = ended == all ? 1 : estimated ?? Double(ended) / Double(max(all, 1))
    var text = " \("\(Int(fraction * 100))".aligned(to: 3)) %  \(ended.grouped) of \(all.grouped)"
    text += "  \(now.ticking)"
    if let total = view.estimate.total, estimated != nil, ended < all, !view.isCancelling {
      text += "  about \((total * (1 - fraction)).ticking) left"
    }
    var failed = StyledLine()
    if let count = view.counts[.failed] { failed.add("  \(count.grouped) failed", .red) }
    if view.isCancelling { failed.add("  ending", .yellow) }
    let bar = min(widestBar, columns - text.columnCount - failed.columnCount)
    if bar < 4 { return StyledLine(String(text.drop { $0 == " " })) + failed }
    let full = Int(fraction * Double(bar))
    return StyledLine(String(repeating: "━", count: full), .green)
      + StyledLine(String(repeating: "┄", count: bar - full), .faint) + StyledLine(text) + failed
  }
}
