import Testing
import WorkflowDocument

@testable import WorkflowRunner

@Suite struct EventFeedTests {
  /// A feed whose logs are read by a script.
  private struct Scene {
    var feed: EventFeed
    /// How many more pieces each step's log has.
    var pieces: [Int: Int] = [:]
    private(set) var log: [String] = []

    init(_ steps: [String], needs: [[Int]]? = nil) {
      feed = EventFeed(steps, needs: needs ?? steps.map { _ in [] })
    }

    mutating func happens(_ kinds: RunEvent.Kind...) {
      for kind in kinds { feed.happened(.event(RunEvent(time: .zero, kind: kind))) }
    }

    mutating func opens(_ step: Int) {
      feed.happened(.logOpens(step: step, path: "log", from: 0))
    }

    mutating func closes(_ step: Int) {
      feed.happened(.logCloses(step: step, at: 0, time: .zero))
    }

    /// Does what is next, so often at most; returns what was done.
    mutating func does(_ limit: Int = .max) -> [String] {
      var done: [String] = []
      while done.count < limit {
        switch feed.next() {
        case .pass(let event): done.append(Self.words(event.kind))
        case .open: continue
        case .read(let step, _, _):
          done.append("read \(step)")
          let rest = max(pieces[step, default: 0] - 1, 0)
          pieces[step] = rest
          feed.didRead(step, hasMore: rest > 0)
        case .none: return done
        }
      }
      return done
    }

    private static func words(_ kind: RunEvent.Kind) -> String {
      switch kind {
      case .started(let step, let attempt, _): "\(step) started \(attempt)"
      case .ended(let step, _): "\(step) ended"
      case .retrying(let step, _, _, _): "\(step) retrying"
      case .rollingBack(let step): "\(step) rolling back"
      case .rolledBack(let step, _): "\(step) rolled back"
      case .cancelling: "cancelling"
      case .runEnded: "end"
      default: "other"
      }
    }
  }

  private static func ended(_ step: String) -> RunEvent.Kind {
    .ended(step: step, StepEnd(outcome: .succeeded))
  }

  private static func started(_ step: String, _ attempt: Int = 1) -> RunEvent.Kind {
    .started(step: step, attempt: attempt, node: nil)
  }

  private static let end = RunEvent.Kind.runEnded(
    RunEnd(succeeded: 0, failed: 0, skipped: 0, cancelled: 0, duration: .zero, failures: "")
  )

  @Test func `events come in the order in which they happened, if little was printed`() {
    var scene = Scene(["a", "b"])
    scene.happens(Self.started("a"), Self.started("b"))
    scene.opens(0)
    scene.opens(1)
    scene.closes(1)
    scene.happens(Self.ended("b"))
    scene.closes(0)
    scene.happens(Self.ended("a"), Self.end)
    #expect(
      scene.does() == [
        "a started 1", "b started 1", "read 1", "b ended", "read 0", "a ended", "end",
      ]
    )
  }

  @Test func `an end waits for the lines before it, and what needs the step for that end`() {
    var scene = Scene(["a", "b", "c"], needs: [[], [0], []])
    scene.pieces = [0: 3]
    scene.happens(Self.started("a"))
    scene.opens(0)
    scene.closes(0)
    scene.happens(Self.ended("a"), Self.started("b"), Self.ended("b"), Self.started("c"))
    scene.happens(Self.ended("c"), Self.end)
    #expect(
      scene.does() == [
        "a started 1", "read 0", "c started 1", "c ended", "read 0", "read 0", "a ended",
        "b started 1", "b ended", "end",
      ]
    )
  }

  @Test func `an end that isn't known yet holds what needs it`() {
    var scene = Scene(["a", "b"], needs: [[], [0]])
    scene.happens(Self.started("a"), Self.started("b"))
    #expect(scene.does() == ["a started 1"])
    scene.happens(Self.ended("a"))
    #expect(scene.does() == ["a ended", "b started 1"])
  }

  @Test func `an attempt's lines come before the next attempt`() {
    var scene = Scene(["a"])
    scene.pieces = [0: 2]
    scene.happens(Self.started("a"))
    scene.opens(0)
    scene.closes(0)
    scene.happens(
      .retrying(step: "a", attempt: 1, after: .zero, because: ""),
      Self.started("a", 2)
    )
    scene.opens(0)
    scene.closes(0)
    scene.happens(Self.ended("a"))
    #expect(
      scene.does() == [
        "a started 1", "read 0", "read 0", "a retrying", "a started 2", "read 0", "a ended",
      ]
    )
  }

  @Test func `logs are read in turns, whether their attempts go on or not`() {
    var scene = Scene(["a", "b", "c"])
    scene.pieces = [0: 100, 1: 2, 2: 3]
    for step in 0..<3 { scene.opens(step) }
    scene.closes(2)
    #expect(scene.does(1) == ["read 2"])
    scene.feed.looks()
    #expect(
      scene.does(8) == [
        "read 2", "read 0", "read 1", "read 2", "read 0", "read 1", "read 0", "read 0",
      ]
    )
    scene.pieces[1] = 1
    scene.feed.looks()
    #expect(scene.does(3) == ["read 0", "read 1", "read 0"])
  }

  @Test func `a log is read once in a round, however often it is looked for`() {
    var scene = Scene(["a", "b"])
    scene.opens(0)
    scene.opens(1)
    #expect(scene.does().isEmpty)
    for _ in 0..<3 { scene.feed.looks() }
    #expect(scene.does() == ["read 0", "read 1"])
    #expect(scene.feed.isReading)
    scene.closes(0)
    scene.closes(1)
    #expect(scene.does() == ["read 0", "read 1"])
    #expect(!scene.feed.isReading)
  }

  @Test func `undoing comes after all that happened before, one step after the other`() {
    var scene = Scene(["a", "b", "c"])
    scene.pieces = [0: 2, 1: 2]
    scene.opens(0)
    scene.closes(0)
    scene.happens(Self.ended("a"), Self.ended("b"))
    scene.happens(.rollingBack(step: "b"))
    scene.opens(1)
    scene.closes(1)
    scene.happens(.rolledBack(step: "b", error: nil), .rollingBack(step: "c"))
    scene.happens(.cancelling(because: ""), .rolledBack(step: "c", error: nil), Self.end)
    #expect(
      scene.does() == [
        "read 0", "b ended", "cancelling", "read 0", "a ended", "b rolling back", "read 1",
        "read 1", "b rolled back", "c rolling back", "c rolled back", "end",
      ]
    )
  }

  @Test func `nothing is kept back at the end, whatever did not come`() {
    var scene = Scene(["a", "b"], needs: [[], [0]])
    scene.happens(Self.ended("b"), Self.end)
    #expect(scene.does() == ["b ended", "end"])
  }
}
