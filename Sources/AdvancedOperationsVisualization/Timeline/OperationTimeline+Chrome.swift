import AdvancedOperations
import CoreOperations

extension OperationTimeline {
  /// Returns the timeline in the format of Chrome's trace viewer, which `ui.perfetto.dev` opens too.
  ///
  /// Executing operations are in lanes, of which there are as many as operations that executed at the same
  /// time; groups have separate lanes. Arrows are dependencies. The part *waiting* shows the time that an
  /// operation waited for dependencies, conditions, and a slot. Times count from the first event, in
  /// microseconds. The format is described in *Trace Event Format*, a document of the Chromium project.
  ///
  /// - Returns: A JSON object.
  public func chromeTrace() -> String {
    var writer = ChromeTraceWriter(self)
    return writer.text()
  }

  /// Returns the first free lane for each span that executed; groups have separate lanes.
  func lanes(ofGroups: Bool) -> [Int?] {
    let groups = Set(spans.compactMap(\.group))
    var lanes = [Int?](repeating: nil, count: spans.count)
    var busy = IndexedHeap<HeapEntry<Duration>>()
    var free = IndexedHeap<HeapEntry<Int>>()
    var count = 0
    let indices = spans.indices.filter { groups.contains($0) == ofGroups }
    let starts = indices.compactMap { index in spans[index].started.map { (index, $0) } }
    for (index, start) in starts.sorted(by: { ($0.1, $0.0) < ($1.1, $1.0) }) {
      while let first = busy.first, first.key <= start {
        _ = busy.popFirst()
        free.insert(HeapEntry(first.value, key: first.value))
      }
      let lane = free.popFirst()?.value ?? count
      count = max(count, lane + 1)
      lanes[index] = lane
      busy.insert(HeapEntry(lane, key: max(spans[index].ended ?? end, start), ticket: index))
    }
    return lanes
  }
}

private struct ChromeTraceWriter {
  private enum Process: Int {
    case executing = 1
    case groups, waiting
  }

  private let timeline: OperationTimeline
  // Stored, because the timeline computes the value from all of its spans.
  private let begin: Duration
  private var events: [String] = []

  init(_ timeline: OperationTimeline) {
    self.timeline = timeline
    begin = timeline.begin
  }

  mutating func text() -> String {
    let lanes = timeline.lanes(ofGroups: false)
    let groupLanes = timeline.lanes(ofGroups: true)
    name(.executing, "executing", lanes: lanes, "lane")
    name(.groups, "groups", lanes: groupLanes, "group")
    if timeline.spans.contains(where: { $0.enqueued != nil }) { name(.waiting, "waiting") }
    let ways = timeline.ways
    let slack = ways.slack
    let critical = Set(ways.criticalPath)
    for (index, span) in timeline.spans.enumerated() {
      let details = [
        ("outcome", Self.quoted(span.outcome?.status.rawValue ?? "executing")),
        ("critical", critical.contains(index) ? "true" : "false"),
        ("slack", Self.quoted(slack[index].readable)),
      ]
      if let lane = lanes[index] { execution(span, .executing, lane, details) }
      if let lane = groupLanes[index] { execution(span, .groups, lane, details) }
      waiting(index, span)
    }
    flows(lanes, groupLanes)
    return "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n"
      + events.joined(separator: ",\n") + "\n]}\n"
  }

  private mutating func name(
    _ process: Process,
    _ name: String,
    lanes: [Int?] = [],
    _ laneName: String = ""
  ) {
    let highest = lanes.compactMap { $0 }.max()
    if highest == nil && !laneName.isEmpty { return }
    metadata(process, "process_name", name)
    for lane in 0..<(highest.map { $0 + 1 } ?? 0) {
      metadata(process, "thread_name", "\(laneName) \(lane + 1)", lane: lane)
    }
  }

  private mutating func metadata(
    _ process: Process,
    _ kind: String,
    _ name: String,
    lane: Int? = nil
  ) {
    let thread = lane.map { ",\"tid\":\($0 + 1)" } ?? ""
    events.append(
      "{\"ph\":\"M\",\"pid\":\(process.rawValue)\(thread),\"name\":\"\(kind)\","
        + "\"args\":{\"name\":\(Self.quoted(name))}}"
    )
  }

  private mutating func execution(
    _ span: OperationTimeline.Span,
    _ process: Process,
    _ lane: Int,
    _ details: [(String, String)]
  ) {
    guard let started = span.started else { return }
    let duration = span.executionDuration(until: timeline.end) ?? .zero
    let arguments = details.map { "\"\($0)\":\($1)" }.joined(separator: ",")
    let extra = ",\"dur\":\(Self.microseconds(duration)),\"args\":{\(arguments)}"
    event("X", process, lane: lane, at: started, span.name, "executing", extra)
    for retry in span.retries {
      event("i", process, lane: lane, at: retry, "retry \(span.name)", "retry")
    }
    if let failed = span.lastFailedAttempt {
      event("i", process, lane: lane, at: failed, "failed attempt of \(span.name)", "retry")
    }
    let end = started.saturatingAdding(duration)
    guard let cancelled = span.cancelled, cancelled >= started, cancelled <= end else { return }
    event("i", process, lane: lane, at: cancelled, "cancel \(span.name)", "cancel")
  }

  private mutating func waiting(_ index: Int, _ span: OperationTimeline.Span) {
    for phase in timeline.phases(of: index) {
      let id = ",\"id\":\(index + 1)"
      let category = phase.kind.rawValue
      event("b", .waiting, lane: 0, at: phase.begin, span.name, category, id)
      event("e", .waiting, lane: 0, at: phase.end, span.name, category, id)
    }
  }

  /// Adds an arrow from the end of each dependency to the start of the operation that waited for it.
  private mutating func flows(_ lanes: [Int?], _ groupLanes: [Int?]) {
    func place(_ index: Int) -> (Process, Int)? {
      lanes[index].map { (.executing, $0) } ?? groupLanes[index].map { (.groups, $0) }
    }
    var id = 0
    for (index, span) in timeline.spans.enumerated() {
      guard let started = span.started, let (process, lane) = place(index) else { continue }
      for dependency in span.dependencies {
        let other = timeline.spans[dependency]
        guard let begin = other.started, let end = other.ended, end <= started,
          let (from, fromLane) = place(dependency)
        else { continue }
        id += 1
        // The arrow begins a little before the end, so that it begins inside of the slice.
        let leave = max(begin, end - .nanoseconds(1))
        let tail = ",\"id\":\(id)"
        event("s", from, lane: fromLane, at: leave, "dependency", "dependency", tail)
        let head = tail + ",\"bp\":\"e\""
        event("f", process, lane: lane, at: started, "dependency", "dependency", head)
      }
    }
  }

  private mutating func event(
    _ kind: String,
    _ process: Process,
    lane: Int,
    at time: Duration,
    _ name: String,
    _ category: String,
    _ extra: String = ""
  ) {
    events.append(
      "{\"ph\":\"\(kind)\",\"pid\":\(process.rawValue),\"tid\":\(lane + 1),"
        + "\"ts\":\(Self.microseconds(time.saturatingSubtracting(begin))),"
        + "\"name\":\(Self.quoted(name)),\"cat\":\"\(category)\"\(extra)}"
    )
  }

  // MARK: JSON

  /// Returns microseconds with three decimals, because the viewer counts whole nanoseconds in 64 bits (292
  /// years).
  private static func microseconds(_ duration: Duration) -> String {
    let nanoseconds = max(duration, .zero).wholeNanoseconds
    let decimals = String(nanoseconds % 1_000)
    return "\(nanoseconds / 1_000).\(String(repeating: "0", count: 3 - decimals.count))\(decimals)"
  }

  /// Returns a string of JSON (RFC 8259).
  static func quoted(_ text: String) -> String {
    let escaped = text.escaped { scalar in
      switch scalar {
      case "\"": "\\\""
      case "\\": "\\\\"
      case "\n": "\\n"
      case _ where scalar.value < 0x20:
        "\\u00" + (scalar.value < 0x10 ? "0" : "") + String(scalar.value, radix: 16)
      default: nil
      }
    }
    return "\"\(escaped)\""
  }
}
