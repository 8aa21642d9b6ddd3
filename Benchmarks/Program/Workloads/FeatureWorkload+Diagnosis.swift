import AdvancedOperations
import AdvancedOperationsVisualization
import CoreOperations

extension FeatureWorkload {
  /// Questions to a queue, beside the same queue without them.
  static let diagnosis = FeatureWorkload("diagnosis", "a chain that waits, and questions about it")
  {
    size in
    [
      Lane("no question", operations: size, expectedRuns: 0) { _ in ask(size) { _, _ in } },
      Lane("queue.explain()", operations: size, expectedRuns: 0) { _ in
        try ask(size) { queue, operations in
          let explanation = queue.explain()
          try check(explanation.rootCauses, explanation.causes.count, operations.count)
        }
      },
      Lane("the last one's explain()", operations: size, expectedRuns: 0) { _ in
        try ask(size) { _, operations in
          let explanation = operations[size - 1].explain()
          try check(explanation.rootCauses, explanation.path.count, operations.count)
        }
      },
      Lane("graph", operations: size, expectedRuns: 0) { _ in
        try ask(size) { queue, _ in
          let graph = queue.graph
          // With the one that isn't in a queue.
          try check(graph.nodes.count, equals: size + 1, "nodes")
          try check(graph.edges.count, equals: size, "edges")
        }
      },
      Lane("graph as DOT", operations: size, expectedRuns: 0) { _ in
        try ask(size) { queue, _ in
          let arrows = queue.graph.dot().utf8.count { $0 == UInt8(ascii: ">") }
          try check(arrows, equals: size, "arrows")
        }
      },
      Lane("graph as Mermaid", operations: size, expectedRuns: 0) { _ in
        try ask(size) { queue, _ in
          let arrows = queue.graph.mermaid().split(separator: "\n").count { $0.contains(" --> ") }
          try check(arrows, equals: size, "arrows")
        }
      },
      Lane("explanation as text", operations: size, expectedRuns: 0) { _ in
        try ask(size) { _, operations in
          let text = operations[size - 1].explain().description
          try check(text.contains("needed: ") ? 1 : 0, equals: 1, "remedies")
        }
      },
      Lane("timeline as a trace", operations: size) { _ in
        try check(recorded(size).timeline.chromeTrace().hasPrefix("{") ? 1 : 0, equals: 1, "traces")
      },
      Lane("timeline as SVG", operations: size) { _ in
        try check(
          recorded(size).timeline.svg().hasSuffix("</svg>\n") ? 1 : 0,
          equals: 1,
          "pictures"
        )
      },
      Lane("OperationPlan", operations: size, expectedRuns: 0) { _ in
        let plan = try OperationPlan(
          durations: Array(repeating: .seconds(1), count: size),
          edges: (1..<max(size, 1)).map { (from: $0 - 1, to: $0) }
        )
        let seconds = Int(plan.schedule(workers: 2).duration.components.seconds)
        try check(seconds, equals: size, "seconds")
      },
    ]
  }

  private static func recorded(_ size: Int) -> TimelineRecorder {
    let recorder = TimelineRecorder()
    run(size) {
      let operation = CountingOperation()
      operation.addObserver(recorder)
      return operation
    }
    return recorder
  }

  /// Asks while a chain waits for an operation that isn't in a queue, and cancels the chain then.
  private static func ask(
    _ size: Int,
    _ question: (AdvancedOperationQueue, [AdvancedOperation]) throws -> Void
  ) rethrows {
    let queue = AdvancedOperationQueue()
    var previous: CoreOperations.Operation = CoreOperations.BlockOperation()
    let operations = (0..<size).map { _ in
      let operation = CountingOperation()
      operation.addDependency(previous)
      previous = operation
      return operation
    }
    queue.addOperations(operations)
    defer {
      queue.cancelAllOperations()
      queue.waitUntilAllOperationsAreFinished()
    }
    try question(queue, operations)
  }

  /// There is one at the root, and it is known why each of the others waits.
  private static func check(
    _ rootCauses: [OperationExplanation.Cause],
    _ count: Int,
    _ expected: Int
  ) throws {
    guard rootCauses.map(\.kind) == [.notEnqueued] else {
      throw WrongResult(description: "the root causes are: \(rootCauses)")
    }
    guard count >= expected else {
      throw WrongResult(description: "\(count) causes of \(expected) operations")
    }
  }
}
