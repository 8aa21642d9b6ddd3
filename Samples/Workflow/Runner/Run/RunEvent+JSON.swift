import TerminalSupport
import WorkflowDocument

/// The shape of an event as JSON: flat, its keys in a fixed order, times in seconds.
///
/// ```json
/// {"time":0.002,"event":"runStarted","run":"…","workflow":"release","steps":9,"resumed":false}
/// {"time":0.003,"event":"waiting","step":"test","for":"build"}
/// {"time":0.004,"event":"started","step":"build","attempt":1,"node":"n1"}
/// {"time":0.250,"event":"printed","step":"build","line":"compiling"}
/// {"time":0.900,"event":"notice","step":"build","text":"its log may be incomplete"}
/// {"time":1.300,"event":"retrying","step":"build","attempt":1,"delay":0.5,"reason":"exited with
/// 1"}
/// {"time":2.500,"event":"ended","step":"build","outcome":"succeeded","attempts":2,"duration":2.496,
///  "outputs":{"version":"1.2"},"fromJournal":false}
/// {"time":2.600,"event":"rollingBack","step":"build"}
/// {"time":2.700,"event":"rolledBack","step":"build"}
/// {"time":2.800,"event":"cancelling","reason":"Ctrl-C"}
/// {"time":2.900,"event":"runEnded","succeeded":1,"failed":0,"skipped":0,"cancelled":8,
///  "duration":2.9,"failures":""}
/// ```
///
/// `node`, `reason` and `queued` (seconds in the queue of a cluster) of `ended` and `error` of `rolledBack` are there where there is one.
extension RunEvent: Codable {
  private enum Value {
    case text(String?)
    case number(Int)
    case seconds(Duration?)
    case flag(Bool)
    case texts([String: String])
  }

  private struct Key: CodingKey {
    var stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) { self.stringValue = stringValue }
    init(_ name: String) { stringValue = name }
    init?(intValue: Int) { nil }
  }

  /// The event as one line of JSON, without the line feed.
  public var jsonLine: String {
    var line = "{"
    for (key, value) in fields {
      guard let json = Self.json(value) else { continue }
      if line.utf8.count > 1 { line += "," }
      line += "\""
      line += key
      line += "\":"
      line += json
    }
    return line + "}"
  }

  /// Writes the flat object.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    for (name, value) in fields {
      switch value {
      case .text(let text): try container.encodeIfPresent(text, forKey: Key(name))
      case .number(let number): try container.encode(number, forKey: Key(name))
      case .seconds(let time):
        try container.encodeIfPresent(time?.roundedSeconds, forKey: Key(name))
      case .flag(let flag): try container.encode(flag, forKey: Key(name))
      case .texts(let texts): try container.encode(texts, forKey: Key(name))
      }
    }
  }

  /// Reads the flat object.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Key.self)
    func value<Value: Decodable>(_ name: String) throws -> Value {
      try container.decode(Value.self, forKey: Key(name))
    }
    func optional(_ name: String) throws -> String? {
      try container.decodeIfPresent(String.self, forKey: Key(name))
    }
    func time(_ name: String) throws -> Duration {
      .microseconds((try value(name) as Double * 1e6).rounded())
    }
    self.init(time: try time("time"), kind: .cancelling(because: ""))
    switch try value("event") as String {
    case "runStarted":
      kind = .runStarted(
        run: try value("run"),
        workflow: try value("workflow"),
        steps: try value("steps"),
        isResumed: try value("resumed")
      )
    case "waiting": kind = .waiting(step: try value("step"), for: try value("for"))
    case "started":
      kind = .started(
        step: try value("step"),
        attempt: try value("attempt"),
        node: try optional("node")
      )
    case "printed": kind = .printed(step: try value("step"), line: try value("line"))
    case "notice": kind = .notice(step: try value("step"), try value("text"))
    case "retrying":
      kind = .retrying(
        step: try value("step"),
        attempt: try value("attempt"),
        after: try time("delay"),
        because: try value("reason")
      )
    case "ended":
      var end = StepEnd(outcome: try value("outcome"), reason: try optional("reason"))
      end.attempts = try value("attempts")
      end.duration = try time("duration")
      if (try container.decodeIfPresent(Double.self, forKey: Key("queued"))) != nil {
        end.queued = try time("queued")
      }
      end.node = try optional("node")
      end.outputs = try value("outputs")
      end.isFromJournal = try value("fromJournal")
      kind = .ended(step: try value("step"), end)
    case "rollingBack": kind = .rollingBack(step: try value("step"))
    case "rolledBack": kind = .rolledBack(step: try value("step"), error: try optional("error"))
    case "cancelling": kind = .cancelling(because: try value("reason"))
    case "runEnded":
      kind = .runEnded(
        RunEnd(
          succeeded: try value("succeeded"),
          failed: try value("failed"),
          skipped: try value("skipped"),
          cancelled: try value("cancelled"),
          undone: try container.decodeIfPresent(Int.self, forKey: Key("undone")) ?? 0,
          duration: try time("duration"),
          failures: try value("failures")
        )
      )
    case let name:
      throw DecodingError.dataCorruptedError(
        forKey: Key("event"),
        in: container,
        debugDescription: "There is no event “\(name)”."
      )
    }
  }

  private var fields: [(String, Value)] {
    var (name, rest): (String, [(String, Value)])
    switch kind {
    case .runStarted(let run, let workflow, let steps, let isResumed):
      name = "runStarted"
      rest = [
        ("run", .text(run)), ("workflow", .text(workflow)), ("steps", .number(steps)),
        ("resumed", .flag(isResumed)),
      ]
    case .waiting(let step, let cause):
      (name, rest) = ("waiting", [("step", .text(step)), ("for", .text(cause))])
    case .started(let step, let attempt, let node):
      name = "started"
      rest = [("step", .text(step)), ("attempt", .number(attempt)), ("node", .text(node))]
    case .printed(let step, let line):
      (name, rest) = ("printed", [("step", .text(step)), ("line", .text(line))])
    case .notice(let step, let text):
      (name, rest) = ("notice", [("step", .text(step)), ("text", .text(text))])
    case .retrying(let step, let attempt, let delay, let reason):
      name = "retrying"
      rest = [
        ("step", .text(step)), ("attempt", .number(attempt)), ("delay", .seconds(delay)),
        ("reason", .text(reason)),
      ]
    case .ended(let step, let end):
      name = "ended"
      rest = [
        ("step", .text(step)), ("outcome", .text(end.outcome.rawValue)),
        ("reason", .text(end.reason)), ("attempts", .number(end.attempts)),
        ("duration", .seconds(end.duration)), ("queued", .seconds(end.queued)),
        ("node", .text(end.node)), ("outputs", .texts(end.outputs)),
        ("fromJournal", .flag(end.isFromJournal)),
      ]
    case .rollingBack(let step): (name, rest) = ("rollingBack", [("step", .text(step))])
    case .rolledBack(let step, let error):
      (name, rest) = ("rolledBack", [("step", .text(step)), ("error", .text(error))])
    case .cancelling(let reason): (name, rest) = ("cancelling", [("reason", .text(reason))])
    case .runEnded(let end):
      name = "runEnded"
      rest = [
        ("succeeded", .number(end.succeeded)), ("failed", .number(end.failed)),
        ("skipped", .number(end.skipped)), ("cancelled", .number(end.cancelled)),
        ("undone", .number(end.undone ?? 0)),
        ("duration", .seconds(end.duration)), ("failures", .text(end.failures)),
      ]
    }
    return [("time", .seconds(time)), ("event", .text(name))] + rest
  }

  private static func json(_ value: Value) -> String? {
    switch value {
    case .text(let text): text.map(\.jsonQuoted)
    case .number(let number): "\(number)"
    case .seconds(let time): time.map { "\($0.roundedSeconds)" }
    case .flag(let flag): "\(flag)"
    case .texts(let texts): texts.json
    }
  }
}

extension Duration {
  /// In seconds, to the microsecond: what is shorter is noise in a file.
  fileprivate var roundedSeconds: Double {
    let (seconds, attoseconds) = components
    let micros = Double(seconds) * 1e6 + (Double(attoseconds) / 1e12).rounded()
    return micros / 1e6
  }
}
