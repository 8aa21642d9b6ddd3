import CoreOperations
import TestSupport
import Testing

extension Listings {
  @Suite struct `003, a synchronous custom operation` {
    private let operation = DataTransformOperation(input: [1, 2, 3, 4, 5, 6])
    private let queue = OperationQueue()

    @Test func `an operation doubles its input and has its own state`() async throws {
      let stage = Stage.current
      #expect(operation.isReady && !operation.isExecuting && !operation.isFinished)
      queue.addOperation(operation)
      await stage.asleep(1)
      #expect(operation.isExecuting && !operation.isFinished)
      stage.passTime()
      try await operation.untilFinished()
      #expect(!operation.isExecuting && operation.isFinished && !operation.isCancelled)
      #expect(operation.getOutput() == [2, 4, 6, 8, 10, 12])
      #expect(
        withoutThreads(stage.lines) == [
          "Transforming 6 items on <Thread 0x...>",
          "Transformed: [2, 4, 6, 8, 10]",
        ]
      )
    }

    @Test func `the operation runs synchronously when it is started manually`() async {
      let stage = Stage.current
      let operation = operation
      async let started = onThread {
        operation.start()
        return (stage.lines.count, operation.isFinished)
      }
      await stage.asleep(1)
      stage.passTime()
      #expect(await started == (2, true))
    }

    @Test func `cancelled while it works, it has no output`() async throws {
      let stage = Stage.current
      queue.addOperation(operation)
      await stage.asleep(1)
      operation.cancel()
      #expect(operation.isExecuting && !operation.isFinished, "it has to look itself")
      stage.passTime()
      try await operation.untilFinished()
      #expect(stage.lines.last == "Operation cancelled")
      #expect(operation.getOutput() == nil)
    }

    @Test func `an operation that is cancelled before its start never runs`() async throws {
      queue.isSuspended = true
      queue.addOperation(operation)
      operation.cancel()
      let dependent = Operation()
      dependent.addDependency(operation)
      queue.addOperation(dependent)
      queue.isSuspended = false
      try await queue.untilAllOperationsAreFinished()
      #expect(dependent.isFinished)
      #expect(operation.isCancelled && operation.getOutput() == nil)
      #expect(Stage.current.lines.isEmpty)
      // The default start() found it cancelled, so that it is over. What the class itself would
      // say is set in its main(), which nobody called.
      #expect(!operation.isFinished)
    }
  }
}
