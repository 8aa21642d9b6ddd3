import CoreOperations
import Testing

@Suite(.watched) struct `Observing properties` {
  @Test func `observers receive start and end of a plain operation once each`() async throws {
    let operation = BlockOperation {}
    let log = Log<String>()
    let tokens = [
      operation.observe(\.isExecuting, options: [.old, .new]) { _, change in
        log.add("executing \(change.oldValue == true) \(change.newValue == true)")
      },
      operation.observe(\.isFinished, options: [.old, .new]) { operation, change in
        log.add("finished \(change.oldValue == true) \(change.newValue == true)")
        #expect(operation.isFinished)
      },
    ]
    let queue = OperationQueue()
    queue.addOperation(operation)
    try await queue.untilAllOperationsAreFinished()
    withExtendedLifetime(tokens) {}
    #expect(Set(log.entries.dropFirst()) == ["executing true false", "finished false true"])
    #expect(log.entries.first == "executing false true")
    #expect(log.count == 3)
  }

  @Test(arguments: Reporting.allCases)
  func `observers receive the changes that overrides report`(_ reporting: Reporting) async throws {
    let operation = SelfKept(reporting) { $0.end() }
    let finished = Tally()
    let token = operation.observe(\.isFinished, options: .new) { _, change in
      #expect(change.oldValue == nil)
      #expect(change.newValue == true)
      finished.add()
    }
    let queue = OperationQueue()
    queue.addOperation(operation)
    try await queue.untilAllOperationsAreFinished()
    withExtendedLifetime(token) {}
    #expect(finished.now == 1)
  }

  @Test func `observers receive initial values immediately and no values without options`() {
    let operation = Operation()
    let log = Log<Bool?>()
    let token = operation.observe(\.isCancelled, options: [.initial, .new]) { _, change in
      log.add(change.newValue)
    }
    #expect(log.entries == [false])
    operation.cancel()
    #expect(log.entries == [false, true])
    token.invalidate()
    let empty = Operation()
    let bare = empty.observe(\.isCancelled) { _, change in
      #expect(change.oldValue == nil && change.newValue == nil)
      log.add(nil)
    }
    empty.cancel()
    withExtendedLifetime(bare) {}
    #expect(log.entries == [false, true, nil])
  }

  @Test func `observers receive the prior call before an announced change`() {
    let operation = SelfKept(.keyPaths)
    let log = Log<String>()
    let token = operation.observe(\.isExecuting, options: [.prior, .new]) { operation, change in
      log.add("\(change.newValue.map { "\($0)" } ?? "before") \(operation.isExecuting)")
    }
    operation.start()
    withExtendedLifetime(token) {}
    #expect(log.entries == ["before false", "true true"])
  }

  @Test func `observers receive readiness, dependencies, priority and completion block`() {
    let (operation, dependency) = (Operation(), Operation())
    let log = Log<String>()
    let tokens = [
      operation.observe(\.isReady, options: .new) { _, change in
        log.add("ready \(change.newValue == true)")
      },
      operation.observe(\.dependencies, options: .new) { _, change in
        log.add("dependencies \(change.newValue?.count ?? -1)")
      },
      operation.observe(\.queuePriority, options: [.old, .new]) { _, change in
        log.add("priority \(change.oldValue?.rawValue ?? 1) \(change.newValue?.rawValue ?? 1)")
      },
    ]
    operation.addDependency(dependency)
    #expect(Set(log.entries) == ["ready false", "dependencies 1"])
    dependency.start()
    #expect(log.entries.last == "ready true")
    operation.queuePriority = .high
    #expect(log.entries.last == "priority 0 4")
    let count = log.count
    operation.queuePriority = .high
    #expect(log.count == count)
    let blocks = Tally()
    let block = operation.observe(\.completionBlock) { _, _ in blocks.add() }
    operation.completionBlock = {}
    withExtendedLifetime((tokens, block)) {}
    #expect(blocks.now >= 1)
  }

  @Test func `observers receive a queue's count, suspension, limit and name`() async throws {
    let queue = OperationQueue()
    let log = Log<String>()
    let tokens = [
      queue.observe(\.operationCount, options: .new) { _, change in
        log.add("count \(change.newValue ?? -1)")
      },
      queue.observe(\.isSuspended, options: .new) { _, change in
        log.add("suspended \(change.newValue == true)")
      },
      queue.observe(\.maxConcurrentOperationCount, options: .new) { _, change in
        log.add("limit \(change.newValue ?? -1)")
      },
      queue.observe(\.name, options: .new) { _, change in
        log.add("name \((change.newValue ?? nil) ?? "nil")")
      },
    ]
    queue.isSuspended = true
    queue.maxConcurrentOperationCount = 2
    queue.name = "imports"
    queue.addOperation(Operation())
    #expect(log.entries == ["suspended true", "limit 2", "name imports", "count 1"])
    queue.isSuspended = false
    try await queue.untilAllOperationsAreFinished()
    withExtendedLifetime(tokens) {}
    #expect(log.entries.contains("suspended false"))
  }

  @Test func `an observation ends with its token`() {
    let operation = Operation()
    let calls = Tally()
    do {
      let token = operation.observe(\.queuePriority) { _, _ in calls.add() }
      operation.queuePriority = .low
      withExtendedLifetime(token) {}
    }
    #expect(calls.now == 1)
    operation.queuePriority = .high
    #expect(calls.now == 1)
  }

  @Test func `every method can be called from an observer`() async throws {
    let operation = BlockOperation {}
    let other = Operation()
    let token = operation.observe(\.isExecuting) { operation, _ in
      operation.cancel()
      operation.addDependency(other)
      operation.removeDependency(other)
      operation.queuePriority = .high
      operation.name = "observed"
      _ = operation.debugDescription
    }
    let queue = OperationQueue()
    queue.addOperation(operation)
    try await queue.untilAllOperationsAreFinished()
    withExtendedLifetime(token) {}
    #expect(operation.isFinished)
    #expect(operation.name == "observed")
  }
}
