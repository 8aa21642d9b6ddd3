import Foundation
import Testing
import WorkflowDocument
import WorkflowRunner

@Suite struct `An event as a line of JSON` {
  /// One of each kind, with what it is as text.
  static let events: [(RunEvent.Kind, String)] = [
    (
      .runStarted(run: "r-1", workflow: "release", steps: 9, isResumed: false),
      #""event":"runStarted","run":"r-1","workflow":"release","steps":9,"resumed":false"#
    ),
    (.waiting(step: "test", for: "cpu"), #""event":"waiting","step":"test","for":"cpu""#),
    (
      .started(step: "build", attempt: 1, node: nil),
      #""event":"started","step":"build","attempt":1"#
    ),
    (
      .started(step: "build", attempt: 2, node: "n1"),
      #""event":"started","step":"build","attempt":2,"node":"n1""#
    ),
    (
      .printed(step: "a", line: "\u{1B}[1m\"\\\t\u{2028}é"),
      #""event":"printed","step":"a","line":"\u001b[1m\"\\\t\u2028é""#
    ),
    (
      .retrying(step: "a", attempt: 1, after: .milliseconds(500), because: "exited with 1"),
      #""event":"retrying","step":"a","attempt":1,"delay":0.5,"reason":"exited with 1""#
    ),
    (
      .ended(
        step: "a",
        StepEnd(
          outcome: .succeeded,
          attempts: 2,
          duration: .seconds(3),
          outputs: ["v": "1", "a": ""]
        )
      ),
      #""event":"ended","step":"a","outcome":"succeeded","attempts":2,"duration":3.0,"#
        + #""outputs":{"a":"","v":"1"},"fromJournal":false"#
    ),
    (.notice(step: "a", "cut"), #""event":"notice","step":"a","text":"cut""#),
    (
      .ended(
        step: "a",
        StepEnd(outcome: .succeeded, attempts: 1, queued: .seconds(60), node: "n1")
      ),
      #""event":"ended","step":"a","outcome":"succeeded","attempts":1,"duration":0.0,"#
        + #""queued":60.0,"node":"n1","outputs":{},"fromJournal":false"#
    ),
    (
      .ended(step: "a", StepEnd(outcome: .failed, reason: "no", node: "n2", isFromJournal: true)),
      #""event":"ended","step":"a","outcome":"failed","reason":"no","attempts":0,"#
        + #""duration":0.0,"node":"n2","outputs":{},"fromJournal":true"#
    ),
    (.rollingBack(step: "a"), #""event":"rollingBack","step":"a""#),
    (.rolledBack(step: "a", error: nil), #""event":"rolledBack","step":"a""#),
    (.rolledBack(step: "a", error: "e"), #""event":"rolledBack","step":"a","error":"e""#),
    (.cancelling(because: "Ctrl-C"), #""event":"cancelling","reason":"Ctrl-C""#),
    (
      .runEnded(
        RunEnd(
          succeeded: 1,
          failed: 2,
          skipped: 3,
          cancelled: 4,
          undone: 5,
          duration: .seconds(5),
          failures: "a\nb"
        )
      ),
      #""event":"runEnded","succeeded":1,"failed":2,"skipped":3,"cancelled":4,"undone":5,"duration":5.0,"#
        + #""failures":"a\nb""#
    ),
  ]

  @Test(arguments: events.indices)
  func `is flat, with its keys in order, and can be read again`(index: Int) throws {
    let (kind, text) = Self.events[index]
    let event = RunEvent(time: .milliseconds(1_250), kind: kind)
    #expect(event.jsonLine == "{\"time\":1.25,\(text)}")
    #expect(try JSONDecoder().decode(RunEvent.self, from: Data(event.jsonLine.utf8)) == event)
    let encoded = try JSONEncoder().encode(event)
    #expect(try JSONDecoder().decode(RunEvent.self, from: encoded) == event)
    let (one, other) = (
      try JSONSerialization.jsonObject(with: encoded) as? NSDictionary,
      try JSONSerialization.jsonObject(with: Data(event.jsonLine.utf8)) as? NSDictionary
    )
    #expect(one == other)
  }

  @Test func `is one line whatever a step prints`() {
    for scalar in (0...0x2029).compactMap(Unicode.Scalar.init) {
      let event = RunEvent(time: .zero, kind: .printed(step: "a", line: "x\(scalar)y"))
      let isOneLine = !event.jsonLine.contains { $0.isNewline }
      #expect(isOneLine)
    }
  }

  @Test func `has times to the microsecond`() throws {
    let event = RunEvent(time: .nanoseconds(1_234_567_890), kind: .rollingBack(step: "a"))
    #expect(event.jsonLine.hasPrefix(#"{"time":1.234568,"#))
    let read = try JSONDecoder().decode(RunEvent.self, from: Data(event.jsonLine.utf8))
    #expect(read.time == .microseconds(1_234_568))
  }

  @Test func `of a kind that there isn't is refused`() {
    let text = #"{"time":1,"event":"exploded"}"#
    #expect(throws: DecodingError.self) {
      try JSONDecoder().decode(RunEvent.self, from: Data(text.utf8))
    }
  }
}
