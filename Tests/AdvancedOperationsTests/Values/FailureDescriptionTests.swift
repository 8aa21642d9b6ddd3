import AdvancedOperations
import AdvancedTestSupport
import Testing

/// The tree that a person reads.
@Suite struct `The description of a failure` {
  private static func text(
    _ elements: [(OperationFailure.Origin, any Error)],
    notRun: Int = 0
  ) -> String {
    OperationFailure(
      elements: elements.map { .init(origin: $0.0, error: $0.1) },
      notRunCount: notRun
    ).description
  }

  @Test func `a failure's description has a line for each error with its origin`() {
    let text = Self.text([
      (.condition("weather"), OperationConditionError(condition: "weather", underlying: Flaw(1))),
      (.body, Flaw(2)),
      (.cancel, Flaw(3)),
      (.dependency("download"), Flaw(4)),
      (.attempt(1, .body), Flaw(5)),
      (.timeout, OperationTimeout(duration: .seconds(30))),
      (.skipped(reason: "no need"), OperationSkipped(reason: "no need")),
    ])
    #expect(
      text == """
        condition “weather”: flaw 1
        flaw 2
        cancelled: flaw 3
        dependency “download”: flaw 4
        attempt 1: flaw 5
        timed out: The time limit of 30 s was exceeded.
        skipped: no need
        """
    )
  }

  @Test func `a failure's description indents nested errors under one heading`() {
    let text = Self.text(
      [
        (.child("import", .attempt(1, .body)), Flaw(1)),
        (.child("open", .condition("file exists")), Flaw(2)),
        (.child("import", .attempt(2, .body)), Flaw(3)),
        (.child("sync", .child("store", .cancel)), Flaw(4)),
        (.child("sync", .child("store", .body)), Flaw(5)),
        (.attempt(2, .child("x", .body)), Flaw(6)),
      ],
      notRun: 9
    )
    #expect(
      text == """
        child “import”
          attempt 1: flaw 1
          attempt 2: flaw 3
        child “open”
          condition “file exists”: flaw 2
        child “sync”
          child “store”
            cancelled: flaw 4
            flaw 5
        attempt 2
          child “x”
            flaw 6
        9 others did not run
        """
    )
  }

  @Test func `a failure within a failure is described as a tree`() {
    let root = OperationFailure(elements: [
      .init(origin: .attempt(1, .body), error: Flaw(1)),
      .init(origin: .body, error: Flaw(2)),
    ])
    let text = Self.text([
      (.dependency("download"), root), (.cancel, root), (.body, root),
    ])
    #expect(
      text == """
        dependency “download”
          attempt 1: flaw 1
          flaw 2
        cancelled
          attempt 1: flaw 1
          flaw 2
        attempt 1: flaw 1
        flaw 2
        """
    )
  }

  @Test func `a description explains cancelled dependencies and failed groups`() {
    let cancelled = OperationFailure(elements: [])
    let group = OperationFailure(
      elements: [.init(origin: .child("a", .body), error: Flaw(1))],
      notRunCount: 3
    )
    #expect(
      Self.text([(.dependency("download"), cancelled), (.dependency("group"), group)]) == """
        dependency “download”
          cancelled without a reason
        dependency “group”
          child “a”
            flaw 1
          3 others did not run
        """
    )
    #expect(cancelled.description == "cancelled without a reason")
  }

  private static func inherited(
    _ failures: [(String, OperationFailure)]
  ) -> OperationFailure {
    OperationFailure(
      elements: failures.map { name, failure in
        .init(origin: .dependency(OperationLabel(name)), error: failure, isInherited: true)
      }
    )
  }

  @Test func `a description shows an inherited failure once below its first path`() {
    let root = OperationFailure(elements: [.body(1)])
    let b = Self.inherited([("a", root)])
    let c = Self.inherited([("a", root), ("b", b)])
    #expect(
      Self.inherited([("b", b), ("c", c)]).description == """
        dependency “b”
          dependency “a”
            flaw 1
        dependency “c”
          dependency “a”: as above
          dependency “b”: as above
        """
    )
    #expect(flaws(Self.inherited([("b", b), ("c", c)]).rootCauses.map(\.error)) == [1])
  }

  @Test(arguments: [12, 13, 40])
  func `a description shows the two ends of a long path`(length: Int) {
    var failure = OperationFailure(elements: [.body(1)])
    for number in 1...length { failure = Self.inherited([("\(number)", failure)]) }
    let lines = failure.description.split(separator: "\n").map { $0.drop { $0 == " " } }
    let all = (1...length).reversed().map { "dependency “\($0)”" }
    let shown =
      length == 12 ? all : all.prefix(5) + ["… \(length - 6) more …"] + all.suffix(1)
    #expect(lines.map(String.init) == shown + ["flaw 1"])
    let summary = failure.summary().split(separator: ": ").map(String.init)
    #expect(summary == shown + ["flaw 1"])
    #expect(flaws(failure.rootCauses.map(\.error)) == [1])
  }

  @Test func `a failure changes with its elements and its copies don't`() {
    var failure = OperationFailure(elements: [.body(1)])
    let copy = failure
    failure.elements.append(.body(2))
    failure.elements[0].isInherited = true
    #expect(flaws(failure.errors) == [1, 2])
    #expect(flaws(copy.errors) == [1])
    #expect(!copy.isInherited)
    failure.elements = []
    #expect(failure.errors.isEmpty)
  }

  @Test func `a description indents errors of several lines`() {
    struct Wordy: Error, CustomStringConvertible {
      let description = "first\nsecond"
    }
    #expect(
      Self.text([(.child("a", .body), Wordy()), (.condition("b"), Wordy())]) == """
        child “a”
          first
            second
        condition “b”: first
          second
        """
    )
  }

  @Test func `the description of an outcome says its kind`() {
    let failure = OperationFailure(elements: [.init(origin: .body, error: Flaw(1))])
    let empty = OperationFailure(elements: [])
    #expect(OperationOutcome.succeeded.description == "succeeded")
    #expect(OperationOutcome.skipped(reason: "no need").description == "skipped: no need")
    #expect(OperationOutcome.failed(failure).description == "failed\n  flaw 1")
    #expect(OperationOutcome.cancelled(failure).description == "cancelled\n  flaw 1")
    #expect(OperationOutcome.cancelled(empty).description == "cancelled")
  }

  @Test func `the description of an operation has its name and state`() {
    let work = Work("work")
    #expect(work.description == "work (pending)")
    work.cancel()
    #expect(work.description == "work (cancelled, pending)")
    work.start()
    #expect(work.description == "work (cancelled)")
    #expect(Work().description == "Work (pending)")
    let failing = Work.failing("failing")
    failing.start()
    #expect(failing.description == "failing (failed)")
  }

  @Test func `a failure's errors are its elements without origins`() {
    let failure = OperationFailure(elements: [.condition(1), .body(2), .reason(3)])
    #expect(flaws(failure.errors) == [1, 2, 3])
    #expect(failure.notRunCount == 0)
  }

  @Test func `the description of an origin says where an error occurred`() {
    typealias Origin = OperationFailure.Origin
    let texts: [(Origin, String)] = [
      (.condition("online"), "condition “online”"), (.body, "body"), (.cancel, "cancel"),
      (.dependency("parse"), "dependency “parse”"), (.timeout, "timeout"),
      (.child("store", .attempt(2, .body)), "child “store”, attempt 2, body"),
      (.skipped(reason: "no need"), "skipped: no need"),
      (.dependency("parse", .condition("online")), "dependency “parse”, condition “online”"),
      (.condition("a", .operation("ping", .body)), "condition “a”, operation “ping”, body"),
      (.condition("online", .condition("wired")), "condition “online”, condition “wired”"),
    ]
    for (origin, text) in texts { #expect("\(origin)" == text) }
  }
}
