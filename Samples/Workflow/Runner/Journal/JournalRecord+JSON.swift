import TerminalSupport
import WorkflowDocument

/// A record as JSON, in the form that its synthesized decoding reads.
///
/// Two records are written for each step, and making them by `JSONEncoder` took as long as waiting
/// for the disk.
extension JournalRecord {
  /// One line, without its line break.
  var json: String {
    switch self {
    case .begun(let header):
      object("begun", ["_0": header.json])
    case .resumed(let fingerprint, let only):
      object("resumed", ["fingerprint": fingerprint.jsonQuoted, "only": only?.json])
    case .started(let step, let attempt, let node, let handle, let engine):
      object(
        "started",
        [
          "step": step.jsonQuoted, "attempt": "\(attempt)", "node": node?.jsonQuoted,
          "handle": handle.jsonQuoted, "engine": engine?.jsonQuoted,
        ]
      )
    case .attemptFailed(let step, let attempt):
      object("attemptFailed", ["step": step.jsonQuoted, "attempt": "\(attempt)"])
    case .ended(let step, let end):
      object("ended", ["step": step.jsonQuoted, "end": end.json])
    case .rollbackBegun(let step):
      object("rollbackBegun", ["step": step.jsonQuoted])
    case .rollbackStarted(let step, let attempt, let handle, let engine):
      object(
        "rollbackStarted",
        [
          "step": step.jsonQuoted, "attempt": "\(attempt)", "handle": handle.jsonQuoted,
          "engine": engine?.jsonQuoted,
        ]
      )
    case .rolledBack(let step):
      object("rolledBack", ["step": step.jsonQuoted])
    case .rollbackFailed(let step, let reason):
      object("rollbackFailed", ["step": step.jsonQuoted, "reason": reason.jsonQuoted])
    case .runEnded(let end):
      object("runEnded", ["end": end.json])
    }
  }

  private func object(_ name: String, _ fields: Fields) -> String {
    "{\"\(name)\":\(fields.json)}"
  }
}

/// Names and values that are JSON; what is nil isn't there.
private typealias Fields = KeyValuePairs<String, String?>

extension Fields {
  fileprivate var json: String {
    var text = "{"
    for case (let name, let value?) in self {
      if text.utf8.count > 1 { text += "," }
      text += "\"\(name)\":\(value)"
    }
    return text + "}"
  }
}

extension JournalHeader {
  fileprivate var json: String {
    let fields: Fields = [
      "version": "\(version)", "run": run.jsonQuoted, "workflow": workflow.jsonQuoted,
      "fingerprint": fingerprint.jsonQuoted, "file": file?.jsonQuoted, "folder": folder?.jsonQuoted,
      "begin": begin.map { "\($0)" }, "only": only?.json,
      "parameters": parameters?.json,
    ]
    return fields.json
  }
}

extension StepEnd {
  fileprivate var json: String {
    let fields: Fields = [
      "outcome": outcome.rawValue.jsonQuoted, "reason": reason?.jsonQuoted,
      "attempts": "\(attempts)", "duration": duration.json, "queued": queued?.json,
      "node": node?.jsonQuoted, "outputs": outputs.json, "isFromJournal": "\(isFromJournal)",
    ]
    return fields.json
  }
}

extension RunEnd {
  fileprivate var json: String {
    let fields: Fields = [
      "succeeded": "\(succeeded)", "failed": "\(failed)", "skipped": "\(skipped)",
      "cancelled": "\(cancelled)", "undone": undone.map { "\($0)" }, "duration": duration.json,
      "failures": failures.jsonQuoted,
    ]
    return fields.json
  }
}

extension Duration {
  /// Two numbers, which together are the attoseconds.
  fileprivate var json: String {
    let all = attoseconds
    return "[\(Int64(truncatingIfNeeded: all >> 64)),\(UInt64(truncatingIfNeeded: all))]"
  }
}

extension [String] {
  fileprivate var json: String { "[\(map(\.jsonQuoted).joined(separator: ","))]" }
}

extension [String: String] {
  /// An object, its names in order.
  var json: String {
    if isEmpty { return "{}" }
    let fields = sorted { $0.key < $1.key }
      .map { "\($0.key.jsonQuoted):\($0.value.jsonQuoted)" }
    return "{\(fields.joined(separator: ","))}"
  }
}

extension String {
  /// The text as a string of JSON, on one line.
  var jsonQuoted: String {
    doubleQuoted { scalar in
      switch scalar {
      // Control characters of C1 and line separators as well: readers split lines at them.
      case "\0"..<" ", "\u{7F}"..."\u{9F}", "\u{2028}", "\u{2029}": scalar.jsonEscape
      default: nil
      }
    }
  }
}
