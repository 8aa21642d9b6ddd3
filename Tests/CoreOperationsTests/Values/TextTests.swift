import CoreOperations
import Testing

@Suite struct `Numbers and texts` {
  typealias Priority = Operation.QueuePriority

  @Test(arguments: [
    (Int.min, Priority.veryLow), (-10, .veryLow), (-9, .veryLow), (-8, .veryLow), (-7, .low),
    (-5, .low), (-4, .low), (-3, .normal), (-1, .normal), (0, .normal), (1, .normal), (3, .normal),
    (4, .high), (7, .high), (8, .veryHigh), (9, .veryHigh), (10, .veryHigh), (.max, .veryHigh),
  ])
  func `an odd raw priority is clamped towards normal`(rawValue: Int, expected: Priority) {
    #expect(Priority(clamping: rawValue) == expected)
  }

  @Test func `priorities have the documented values and order`() {
    #expect(Priority.allCases.map(\.rawValue) == [-8, -4, 0, 4, 8])
    #expect(Priority.allCases.sorted() == Priority.allCases)
    for priority in Priority.allCases { #expect(Priority(clamping: priority.rawValue) == priority) }
  }

  @Test func `classes of service have the documented values`() {
    let classes: [QualityOfService] = [
      .userInteractive, .userInitiated, .utility, .background, .default,
    ]
    #expect(classes.map(\.rawValue) == [0x21, 0x19, 0x11, 0x09, -1])
  }

  @Test func `an operation keeps the properties that were set`() {
    let operation = Operation()
    #expect(operation.name == nil)
    operation.name = "fetch"
    #expect(operation.name == "fetch")
    operation.name = nil
    #expect(operation.name == nil)
    #expect(operation.qualityOfService == .default)
    operation.qualityOfService = .userInitiated
    #expect(operation.qualityOfService == .userInitiated)
  }

  @Test func `operations are equal by identity`() {
    let first = Operation()
    let second = Operation()
    #expect(first == first)
    #expect(first != second)
    #expect(Set([first, second, first]).count == 2)
  }

  @Test func `an operation's description has name or type and state`() {
    let operation = Operation()
    let dependency = Operation()
    #expect("\(operation)" == "Operation (ready)")
    operation.name = "fetch"
    #expect(operation.description == "fetch (ready)")
    dependency.name = "login"
    operation.addDependency(dependency)
    #expect(operation.description == "fetch (waiting)")
    dependency.start()
    #expect(dependency.description == "login (finished)")
    operation.cancel()
    #expect(operation.description == "fetch (cancelled)")
    operation.start()
    #expect(operation.description == "fetch (cancelled, finished)")
    #expect(operation.debugDescription == "fetch (cancelled, finished)")
  }

  @Test func `an operation's description says that it is executing`() {
    let seen = Log<String>()
    let operation = BlockOperation()
    operation.addExecutionBlock { [unowned operation] in
      seen.add(operation.description)
      operation.cancel()
      seen.add(operation.debugDescription)
    }
    operation.start()
    #expect(
      seen.entries == ["BlockOperation (executing)", "BlockOperation (cancelled, executing)"]
    )
  }

  @Test func `a cycle error describes its path`() {
    let error = OperationCycleError(path: ["a", "b", "a"])
    #expect(
      error.description
        == "These operations wait for each other in a cycle, so none of them can run: a → b → a. "
        + "Remove one of these waits."
    )
    #expect(error == OperationCycleError(path: ["a", "b", "a"]))
    #expect(error != OperationCycleError(path: ["b", "a", "b"]))
  }
}
