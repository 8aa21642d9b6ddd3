import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import CoreOperations
import TestSupport
import Testing

@Suite(.heavy) struct `Random workflows` {
  /// From `OPERATIONS_WORKFLOW_OFFSET` on, or the one that `OPERATIONS_WORKFLOW_SEED` names.
  @Test(arguments: 0..<10)
  func `random workflows do only what the model allows`(part: Int) async throws {
    let count = UInt64(Effort.rounds(50, nightly: 1_000))
    let offset = UInt64(Effort.number("OPERATIONS_WORKFLOW_OFFSET") ?? 0)
    let first = offset + UInt64(part) * count
    var seeds = first..<(first + count)
    if let seed = Effort.number("OPERATIONS_WORKFLOW_SEED") {
      seeds = part == 0 ? UInt64(seed)..<UInt64(seed) + 1 : 0..<0
    }
    let failures = try await offPool { [seeds] in
      seeds.compactMap { seed -> String? in
        var workflow = RandomWorkflow(seed: seed)
        let problems = workflow.problems()
        return problems.isEmpty
          ? nil : "OPERATIONS_WORKFLOW_SEED=\(seed): \(problems.joined(separator: "\n"))"
      }
    }
    for failure in failures.prefix(3) { Issue.record("\(failure)") }
    #expect(failures.isEmpty)
  }

  /// A lie about what happened, and what the model has to say about it.
  struct Lie: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let word: String
    let tell: @Sendable (inout RandomWorkflow.Story) -> Void
  }

  static let lies = [
    Lie(testDescription: "one more than a claim allows enters", word: "entered") { story in
      for number in story.plans.indices {
        for index in story.plans[number].claims.indices {
          story.plans[number].claims[index].limit -= 1
        }
      }
    },
    Lie(testDescription: "one more than a queue allows starts", word: "the limit is") { story in
      for index in story.queues.indices where story.queues[index].limit > 1 {
        story.queues[index].limit -= 1
      }
    },
    Lie(testDescription: "who waits for a claim is overtaken", word: "which waited") { story in
      let waits = story.events.indices.filter { index in
        if case .claims(_, .waits) = story.events[index] { true } else { false }
      }
      let turned = waits.reversed().map { story.events[$0] }
      for (index, event) in zip(waits, turned) { story.events[index] = event }
    },
    Lie(testDescription: "the less urgent overtakes", word: "more urgent") { story in
      for number in story.plans.indices { story.plans[number].priority *= -1 }
    },
    Lie(testDescription: "a start is told without its claims", word: "without its claims") {
      story in
      for number in story.plans.indices where story.plans[number].claims.isEmpty {
        story.plans[number].claims = [.init(name: "c", limit: 9, busy: .wait)]
      }
    },
    Lie(testDescription: "claims are kept", word: "kept its claims") { story in
      story.events.removeAll { event in
        if case .claims(0, .givenBack) = event { true } else { false }
      }
    },
    Lie(testDescription: "a cancel comes from nowhere", word: "by nobody") { story in
      story.events.removeAll { if case .cancelCalled = $0 { true } else { false } }
    },
    Lie(testDescription: "a refusal has no reason", word: "and may be []") { story in
      for number in story.plans.indices {
        for index in story.plans[number].claims.indices {
          story.plans[number].claims[index].busy = .wait
        }
      }
    },
  ]

  @Test(arguments: lies)
  func `the model detects false statements about random workflows`(lie: Lie) async throws {
    let found = try await offPool {
      (0..<300 as Range<UInt64>).filter { seed in
        var workflow = RandomWorkflow(seed: seed)
        return workflow.problems(lie: lie.tell).contains { $0.contains(lie.word) }
      }
    }
    #expect(!found.isEmpty)
    print("\(lie.testDescription): seen in \(found.count) of 300 workflows")
  }
}
