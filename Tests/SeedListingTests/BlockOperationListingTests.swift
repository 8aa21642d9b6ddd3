import TestSupport
import Testing

extension Listings {
  @Suite struct `003, block operations` {
    @Test func `observing operation state: prints its three lines in order`() async {
      await onThread { observingOperationState() }
      #expect(
        await Stage.current.printed(3) == [
          "Initial state: isReady=true, isExecuting=false",
          "Operation running",
          "Operation finished: isFinished=true, isCancelled=false",
        ]
      )
    }

    @Test func `basic block operation: both blocks run at once, then the completion block`() async {
      let stage = Stage.current
      async let atReturn = onThread {
        basicBlockOperation()
        return stage.lines
      }
      await stage.asleep(2)
      let begun = stage.lines
      #expect(
        withoutThreads(begun).sorted() == [
          "Executing block 1 on <Thread 0x...>",
          "Executing block 2 on <Thread 0x...>",
        ]
      )
      #expect(threads(in: begun).count == 2)
      stage.passTime()
      stage.passTime()
      #expect(await atReturn.starts(with: begun), "start() returned after both")
      #expect(await stage.printed(3).last == "Block operation completed")
    }

    @Test
    func `concurrent block operation: three blocks on three threads, then the completion block`()
      async throws
    {
      let stage = Stage.current
      let operation = concurrentBlockOperation()
      await stage.asleep(3)
      let begun = stage.lines
      #expect(
        withoutThreads(begun).sorted() == (1...3).map { "Block \($0) started on <Thread 0x...>" }
      )
      #expect(threads(in: begun).count == 3)
      #expect(operation.isExecuting)
      for _ in 1...3 { stage.passTime() }
      let lines = await stage.printed(7)
      #expect(lines[3..<6].sorted() == (1...3).map { "Block \($0) completed" })
      #expect(lines[6] == "All blocks finished")
      #expect(operation.isFinished)
    }
  }
}
