import CoreOperations
import Testing

extension Listings {
  @Suite struct `004, downloads` {
    private let paths = ["/first", "/second", "/third"]
    private let server: LoopbackServer
    private let urls: [String]
    /// What the three completion handlers print: the third prints the second address.
    private let ends: [String]

    init() throws {
      let server = try LoopbackServer()
      for path in paths { server.hold(path) }
      self.server = server
      urls = paths.map(server.address)
      ends = [0, 1, 1].map { [urls] in "finished the task: \(urls[$0])" }
    }

    @Test func `downloads run in parallel with a limit of 3`() async throws {
      let (operations, queue) = downloads(urls, atOnce: 3)
      #expect(queue.name == "Image Download queue")
      for operation in operations { await operation.untilExecuting() }
      #expect(await server.asked(3).sorted() == paths)
      #expect(operations.allSatisfy { $0.isExecuting && !$0.isFinished })
      for path in paths { server.release(path) }
      try await queue.untilAllOperationsAreFinished()
      #expect(operations.allSatisfy { $0.isFinished && !$0.isExecuting })
      let lines = Stage.current.lines
      #expect(lines[..<3].sorted() == urls.map { "executing the task: \($0)" })
      #expect(lines[3...].sorted() == ends)
    }

    @Test func `downloads run one after the other with a limit of 1`() async throws {
      let (operations, queue) = downloads(urls, atOnce: 1)
      for (operation, path) in zip(operations, paths) {
        await operation.untilExecuting()
        #expect(operations.filter(\.isExecuting) == [operation])
        server.release(path)
      }
      try await queue.untilAllOperationsAreFinished()
      #expect(
        Stage.current.lines == zip(urls, ends).flatMap { ["executing the task: \($0)", $1] }
      )
    }

    @Test func `the second waits for the first, though its isReady forgets super`() async throws {
      let (operations, queue) = downloads(urls, atOnce: 3, secondDependsOnFirst: true)
      #expect(operations[1].isReady, "it only looks at its own state")
      await operations[0].untilExecuting()
      await operations[2].untilExecuting()
      server.release(paths[2])
      try await operations[2].untilFinished()
      #expect(!operations[1].isExecuting)
      server.release(paths[0])
      await operations[1].untilExecuting()
      #expect(operations[0].isFinished)
      server.release(paths[1])
      try await queue.untilAllOperationsAreFinished()
      let lines = Stage.current.lines
      let begun = lines.firstIndex(of: "executing the task: \(urls[1])")
      let ended = lines.firstIndex(of: ends[0])
      #expect(try #require(ended) < #require(begun))
    }

    @Test func `cancelled while it runs, it ends with its task`() async throws {
      let (operations, queue) = downloads(urls, atOnce: 3)
      for operation in operations { await operation.untilExecuting() }
      _ = await server.asked(3)
      for operation in operations { operation.cancel() }
      try await queue.untilAllOperationsAreFinished()
      #expect(operations.allSatisfy { $0.isFinished && $0.isCancelled })
      for path in paths { server.release(path) }
    }

    @Test func `a download that is cancelled before its start never executes`() async throws {
      let (operations, queue) = downloads(urls, atOnce: 1)
      await operations[0].untilExecuting()
      operations[1].cancel()
      try await operations[1].untilFinished()
      #expect(operations[0].isExecuting)
      server.release(paths[0])
      await operations[2].untilExecuting()
      server.release(paths[2])
      try await queue.untilAllOperationsAreFinished()
      // A task that is cancelled calls its handler, even if it was never resumed.
      let lines = await Stage.current.printed(5)
      #expect(
        lines.filter { $0.hasPrefix("executing") }
          == [urls[0], urls[2]].map { "executing the task: \($0)" }
      )
      #expect(lines.filter { $0.hasPrefix("finished") }.sorted() == ends)
      #expect(server.asked == [paths[0], paths[2]])
    }
  }
}
