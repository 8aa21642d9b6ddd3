import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import TestSupport
import Testing

@Suite(.watched) struct `Code that has to end within a time` {
  @Test func `the value and the error of the code are those of the call`() async throws {
    let value = try await expectEnd(within: .seconds(100_000)) { 7 }
    #expect(value == 7)
    await #expect(throws: Flaw(1)) {
      try await expectEnd(within: .seconds(100_000)) { throw Flaw(1) }
    }
  }

  @Test func `code that hangs is cancelled and left behind, and the failure has the report`()
    async
  {
    OperationDiagnostics.startRecording()
    let queue = AdvancedOperationQueue(name: "of the hanging test")
    queue.isSuspended = true
    queue.addOperation(Work("import"))
    let cancelled = Latch()
    let failure = await #expect(throws: ExpectationFailure.self) {
      try await expectEnd(within: .milliseconds(20)) {
        // Ignores the cancel, like code that awaits a lost continuation.
        await withTaskCancellationHandler {
          await unsafe withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
        } onCancel: {
          cancelled.open()
        }
      }
    }
    await cancelled.opened()
    let message = failure?.message ?? ""
    #expect(message.hasPrefix("The code hasn't ended after 20 ms.\n"))
    // Operations of other tests may be in front of this one in the report.
    #expect(message.contains("\ncauses: "))
    #expect(failure?.fileID == #fileID)
    queue.cancelAllOperations()
    queue.isSuspended = false
  }

  @Test func `a cancel of the caller reaches the body`() async throws {
    let begun = Latch()
    let task = Task {
      try await expectEnd(within: .seconds(100_000)) {
        begun.open()
        try await Task.sleep(for: .seconds(100_000))
      }
    }
    await begun.opened()
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  @MainActor private final class Label {
    var text = ""
  }

  @MainActor @Test func `a body of the main actor may use what belongs to it`() async throws {
    let label = Label()
    try await expectEnd(within: .seconds(100_000)) { @MainActor in
      await Task.yield()
      label.text = "done"
    }
    #expect(label.text == "done")
  }
}
