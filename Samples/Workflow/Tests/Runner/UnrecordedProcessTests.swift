import Foundation
import Testing

@testable import WorkflowRunner

#if canImport(Glibc)
import Glibc
#endif

/// Processes of a runner that was killed between making them and starting their programs.
@Suite(.timeLimit(.minutes(5))) struct UnrecordedProcessTests {
  @Test func `What an earlier runner was about to start is ended`() async throws {
    let folder = try TemporaryFolder()
    let runner = folder.path + "/runner"
    let shell = URL(filePath: "/bin/sh").resolvingSymlinksInPath()
    try FileManager.default.copyItem(at: shell, to: URL(filePath: runner))
    let mine = folder.path + "/a.1.outputs"
    let process = Process()
    process.executableURL = URL(filePath: runner)
    process.arguments = ["-c", "read line; WORKFLOW_OUTPUT=\(mine) exec sleep 1000"]
    let go = Pipe()
    process.standardInput = go
    try process.run()
    let number = process.processIdentifier
    setpgid(number, number)
    let engine = LocalEngine(runner: runner) {
      try? go.fileHandleForWriting.write(contentsOf: Data("\n".utf8))
      while ProcessStatus.beginning(of: runner).contains(number), !Task.isCancelled {
        await Task.yield()
      }
    }
    let (reports, sink) = AsyncStream<StepReport>.makeStream()
    let report: @Sendable (StepReport) -> Void = { sink.yield($0) }
    await engine.endUnrecorded(gracePeriod: .zero) { $0 == mine ? report : nil }
    sink.finish()
    #expect(await reports.reduce(0) { count, _ in count + 1 } == 1)
    // Otherwise it waits for a line that doesn't come.
    kill(number, SIGKILL)
    process.waitUntilExit()
  }
}
