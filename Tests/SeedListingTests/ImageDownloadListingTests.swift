import Foundation
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

extension Listings {
  @Suite struct `003, asynchronous operations` {
    private let path = "/image.jpg"
    private let server: LoopbackServer
    private let url: String
    private let size: Int

    init() throws {
      server = try LoopbackServer()
      url = server.address(of: path)
      size = LoopbackServer.body(of: path).utf8.count
    }

    @Test func `usage: cancelled early, it says so and leaves`() async throws {
      let stage = Stage.current
      server.hold(path)
      let (download, queue) = usageWithOperationQueue(url)
      _ = await server.asked(1)
      #expect(download.isExecuting && !download.isFinished)
      stage.passTime()
      #expect(download.isCancelled && download.isFinished && !download.isExecuting)
      try await queue.untilAllOperationsAreFinished()
      let lines = await withoutThreads(stage.printed(3))
      #expect(lines[0] == "Starting download for \(url) on <Thread 0x...>")
      // The text leaves out what its completion handler prints, on a thread of its own.
      #expect(
        lines[1...].sorted() == ["Cancelled download for \(url)", "Download cancelled for \(url)"]
      )
      #expect(stage.lines.count == 3, "without data the completion block says nothing")
      server.release(path)
    }

    @Test func `usage: the download finishes, and the cancel arrives too late`() async throws {
      let stage = Stage.current
      let (download, queue) = usageWithOperationQueue(url)
      try await queue.untilAllOperationsAreFinished()
      #expect(download.isFinished && !download.isExecuting)
      await untilNoTaskRuns()
      stage.passTime()
      #expect(!download.isCancelled)
      #expect(
        withoutThreads(stage.lines) == [
          "Starting download for \(url) on <Thread 0x...>",
          "Download complete for \(url)",
          "Downloaded image with size: \(size) bytes",
          "Cancelled download for \(url)",
        ]
      )
    }

    @Test func `chaining: processing begins when the download has ended, then the barrier`()
      async throws
    {
      let stage = Stage.current
      let (_, queue) = chainingAsynchronousOperations(url)
      await stage.asleep(1)
      stage.passTime()
      try await queue.untilAllOperationsAreFinished()
      #expect(
        withoutThreads(stage.lines) == [
          "Starting download for \(url) on <Thread 0x...>",
          "Download complete for \(url)",
          "Processing image with size \(size) on <Thread 0x...>",
          "Image workflow complete",
        ]
      )
    }

    @Test func `chaining: a cancelled download leaves processing nothing to do`() async throws {
      let stage = Stage.current
      server.hold(path)
      let (download, queue) = chainingAsynchronousOperations(url)
      _ = await server.asked(1)
      download.cancel()
      try await queue.untilAllOperationsAreFinished()
      let lines = await withoutThreads(stage.printed(5))
      #expect(lines[0] == "Starting download for \(url) on <Thread 0x...>")
      #expect(
        lines.filter { $0.hasSuffix("no data") || $0.hasSuffix("complete") } == [
          "Processing cancelled or no data", "Image workflow complete",
        ]
      )
      server.release(path)
    }

    /// FoundationNetworking ends the process when a task is cancelled while it completes.
    private func untilNoTaskRuns() async {
      var isIdle = false
      while !isIdle {
        isIdle = await withCheckedContinuation { continuation in
          URLSession.shared.getAllTasks { continuation.resume(returning: $0.isEmpty) }
        }
      }
    }
  }
}
