import Foundation
import WorkflowDocument
import WorkflowRunner

/// What a run's folder says of it, to those who didn't run it.
struct RunRecord {
  enum State: String {
    case running, succeeded, failed, cancelled, interrupted, damaged
  }

  /// What can be said of a run in a line.
  struct Digest {
    var workflow: String?
    var steps: Int?
    /// How many steps have ended well.
    var done = 0
    /// How long it took, in all processes together; one that was killed counts up to its last news.
    var duration: Duration?
    var state: State
  }

  /// The path of the folder.
  let path: String

  var name: String { URL(filePath: path).lastPathComponent }

  /// The file of the workflow as it was.
  var workflowFile: String { "\(path)/workflow.yml" }

  var folder: RunFolder { RunFolder(path) }

  /// Whether it has a journal, which may be empty.
  var hasJournal: Bool { FileManager.default.fileExists(atPath: folder.journal) }

  func logFile(of step: String) -> String { folder.logFile(of: step) }

  /// When it began, from its name: `2026-11-22 17:45:01`.
  var when: String? {
    let parts = name.split(separator: "-", maxSplits: 4, omittingEmptySubsequences: false)
    guard parts.count >= 4, parts[0].count == 4, parts[3].count == 6, Int(parts[3]) != nil else {
      return nil
    }
    let time = Array(parts[3])
    return "\(parts[0])-\(parts[1])-\(parts[2]) "
      + "\(String(time[0..<2])):\(String(time[2..<4])):\(String(time[4..<6]))"
  }

  /// What the workflow is called; what the run's name has behind its time if the journal was lost.
  var workflowName: String {
    folder.summary().header?.workflow ?? String(name.dropFirst("2026-11-22-184254-".count))
  }

  /// How it stands.
  var state: State {
    switch folder.summary().state {
    case .running: .running
    case .interrupted: .interrupted
    case .unreadable: .damaged
    case .ended(let end): Self.state(of: end)
    }
  }

  /// What the folder says of steps of a workflow.
  func explanation(_ workflow: Workflow?) -> RecordedExplanation {
    let journal = journal
    return RecordedExplanation(
      events(by: journal),
      workflow: workflow,
      chosen: chosen(of: workflow, by: journal)
    )
  }

  /// What was chosen of a workflow with `--only`, and all steps that belong to it; nil: all.
  private func chosen(
    of workflow: Workflow?,
    by journal: JournalContents?
  ) -> (names: [String], steps: Set<String>)? {
    guard let names = journal?.only, !names.isEmpty,
      let steps = try? workflow?.only(names).steps
    else { return nil }
    return (names, Set(steps.map(\.id)))
  }

  /// The workflow as it was run; nil if it can't be read.
  func workflow() -> Workflow? {
    guard let text = try? String(contentsOfFile: workflowFile, encoding: .utf8) else { return nil }
    // What it was called after its file, of which this is a copy.
    guard let workflow = try? WorkflowFile.workflow(from: text, name: workflowName) else {
      return nil
    }
    let values = journal?.header.parameters ?? [:]
    return (try? workflow.setting(values.filter { workflow.parameters[$0.key] != nil })) ?? workflow
  }

  /// What its journal says; nil if that can't be read, or is empty.
  var journal: JournalContents? { try? JournalFile.contents(of: folder.journal) }

  /// What happened, as the folder keeps it.
  func events() -> [RunEvent] { events(by: journal) }

  /// What happened, by the file of the events and by the journal.
  ///
  /// The journal knows more than the file where a process was killed, or had no room on the disk: that
  /// is added behind what the file has of the same process.
  private func events(by journal: JournalContents?) -> [RunEvent] {
    let kept = Self.processes(keptEvents()) {
      if case .runStarted = $0.kind { true } else { false }
    }
    let recorded = Self.processes(journal?.records ?? []) { record in
      switch record {
      case .begun, .resumed: true
      default: false
      }
    }
    return (0..<max(kept.count, recorded.count)).flatMap { process in
      let events = process < kept.count ? kept[process] : []
      var known = Dictionary(events.map { ($0.kind.place, 1) }, uniquingKeysWith: +)
      let rest = process < recorded.count ? recorded[process].compactMap(RunEvent.Kind.init) : []
      let missing = rest.filter { kind in
        known[kind.place, default: 0] -= 1
        return known[kind.place, default: 0] < 0
      }
      return events + missing.map { RunEvent(time: events.last?.time ?? .zero, kind: $0) }
    }
  }

  /// What each process has added that ran, or went on with, the run.
  private static func processes<Line>(_ lines: [Line], from isFirst: (Line) -> Bool) -> [[Line]] {
    lines.reduce(into: []) { processes, line in
      if processes.isEmpty || isFirst(line) { processes.append([]) }
      processes[processes.count - 1].append(line)
    }
  }

  /// The events in their file; a torn last line is left out.
  private func keptEvents() -> [RunEvent] {
    let file = "\(path)/events.jsonl"
    // A pipe would be waited for.
    if InputFile.isPipe(file) { return [] }
    guard let data = FileManager.default.contents(atPath: file) else { return [] }
    let decoder = JSONDecoder()
    return data.split(separator: UInt8(ascii: "\n")).compactMap {
      try? decoder.decode(RunEvent.self, from: Data($0))
    }
  }

  /// Whether a program runs it.
  var isRunning: Bool { folder.isRunning }

  func digest() -> Digest {
    let summary = folder.summary()
    var digest = Digest(state: .interrupted)
    digest.workflow = summary.header?.workflow
    digest.done = summary.doneCount
    switch summary.state {
    case .running: digest.state = .running
    case .interrupted: break
    case .unreadable: digest.state = .damaged
    case .ended(let end):
      digest.state = Self.state(of: end)
      digest.steps = end.steps
    }
    let isOver = digest.steps != nil
    var times = summary.times
    if !isOver || times.contains(nil) {
      let processes = Self.processes(keptEvents()) {
        if case .runStarted = $0.kind { true } else { false }
      }
      for (place, events) in processes.enumerated() {
        if case .runStarted(_, _, let steps, _) = events[0].kind, !isOver { digest.steps = steps }
        if place >= times.count { times.append(nil) }
        times[place] = times[place] ?? events.last?.time
      }
    }
    let known = times.compactMap(\.self)
    // Of one that goes on this would be the time of its last news.
    if digest.state != .running, !known.isEmpty { digest.duration = known.reduce(.zero, +) }
    return digest
  }

  /// Whether a step has ended since the run began, or was resumed.
  func hasEnded(_ step: String) -> Bool {
    events().reduce(false) { hasEnded, event in
      switch event.kind {
      case .runStarted: false
      case .ended(step, _): true
      default: hasEnded
      }
    }
  }

  /// The steps that have ended well, by the file of the events and by the journal.
  func finished(by journal: JournalContents?) -> Set<String> {
    events(by: journal).reduce(into: []) { finished, event in
      switch event.kind {
      case .ended(let step, let end) where [.succeeded, .skipped].contains(end.outcome):
        finished.insert(step)
      case .rolledBack(let step, error: nil): finished.remove(step)
      default: break
      }
    }
  }

  static func state(of end: RunEnd) -> State {
    if end.failed > 0 { return .failed }
    return end.isSuccess ? .succeeded : .cancelled
  }

  /// How long its steps took that succeeded; those that had nothing to do took no time.
  ///
  /// - Parameter workflow: The workflow that it has to be a run of.
  /// - Returns: The times, by the names of steps; nil if it is a run of another workflow.
  func durations(of workflow: String) -> [String: Duration]? {
    guard let contents = try? JournalFile.contents(of: folder.journal),
      contents.header.workflow == workflow
    else { return nil }
    return contents.records.reduce(into: [:]) { durations, record in
      guard case .ended(let step, let end) = record else { return }
      if end.outcome == .succeeded { durations[step] = end.duration }
      if end.outcome == .skipped { durations[step] = .zero }
    }
  }
}

extension RunEvent.Kind {
  /// What the event is about, the same for what the journal says of it; empty if it says nothing.
  fileprivate var place: String {
    switch self {
    case .started(let step, let attempt, _): "started \(attempt) \(step)"
    case .retrying(let step, let attempt, _, _): "retrying \(attempt) \(step)"
    case .ended(let step, _): "ended \(step)"
    case .rollingBack(let step): "rollingBack \(step)"
    case .rolledBack(let step, _): "rolledBack \(step)"
    case .runEnded: "runEnded"
    case .runStarted, .waiting, .printed, .notice, .cancelling: ""
    }
  }

  /// What a line of a journal says of a step; nil for what says nothing of one.
  fileprivate init?(_ record: JournalRecord) {
    switch record {
    case .begun, .resumed, .rollbackStarted: return nil
    case .started(let step, let attempt, let node, _, _):
      self = .started(step: step, attempt: attempt, node: node)
    case .attemptFailed(let step, let attempt):
      self = .retrying(step: step, attempt: attempt, after: .zero, because: "failed")
    case .ended(let step, let end): self = .ended(step: step, end)
    case .rollbackBegun(let step): self = .rollingBack(step: step)
    case .rolledBack(let step): self = .rolledBack(step: step, error: nil)
    case .rollbackFailed(let step, let reason): self = .rolledBack(step: step, error: reason)
    case .runEnded(let end): self = .runEnded(end)
    }
  }
}

extension RunCatalog {
  /// How long steps took the last time that they succeeded, in the newest runs of a workflow.
  func durations(of workflow: String) -> [String: Duration] {
    var durations: [String: Duration] = [:]
    var looked = 0
    // The name of a run ends with that of its workflow.
    for name in names.reversed() where name.contains(RunFolder.nameEnd(of: workflow)) {
      guard let new = record(name).durations(of: workflow) else { continue }
      durations.merge(new) { newer, _ in newer }
      looked += 1
      if looked == 3 { break }
    }
    return durations
  }
}
