import Testing

extension Listings {
  @Suite struct `003, operation queues` {
    @Test
    func `adding multiple operations: both at once, the shorter ends first, then the barrier`()
      async throws
    {
      let stage = Stage.current
      let operations = addingMultipleOperations()
      await stage.asleep(2)
      #expect(
        withoutThreads(stage.lines).sorted() == [
          "Operation 1 on <Thread 0x...>",
          "Operation 2 on <Thread 0x...>",
        ]
      )
      #expect(threads(in: stage.lines).count == 2)
      stage.passTime()
      try await operations[1].untilFinished()
      #expect(!operations[0].isFinished)
      stage.passTime()
      #expect(await stage.printed(3).last == "All operations complete")
      #expect(operations[0].isFinished)
    }

    @Test func `chaining operations with dependencies: one after the other, then the barrier`()
      async
    {
      let stage = Stage.current
      chainingOperationsWithDependencies()
      for _ in 1...3 {
        await stage.asleep(1)
        stage.passTime()
      }
      #expect(
        await withoutThreads(stage.printed(4)) == [
          "Downloading data on <Thread 0x...>",
          "Processing data on <Thread 0x...>",
          "Saving data on <Thread 0x...>",
          "Workflow complete",
        ]
      )
    }

    @Test func `using a dispatch group: three at a time, in order, then all results`() async {
      let stage = Stage.current
      usingDispatchGroupWithOperationQueue()
      for running in [3, 3, 3, 2, 1] {
        await stage.asleep(running)
        stage.passTime()
      }
      let lines = await withoutThreads(stage.printed(6))
      #expect(lines[..<3].sorted() == (1...3).map { "Processing task \($0) on <Thread 0x...>" })
      #expect(
        lines[3..<5] == [
          "Processing task 4 on <Thread 0x...>", "Processing task 5 on <Thread 0x...>",
        ]
      )
      #expect(lines[5] == "All tasks complete: [2, 4, 6, 8, 10]")
    }
  }
}
