import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import CoreOperations
import TestSupport
import Testing

/// Who observes a property is called on the thread that changes it, before events are told.
@Suite(.watched) struct `Observers of a property of an advanced operation` {
  /// Ends an operation, and waits for that.
  private static let ends: [@Sendable (AdvancedOperation) -> Void] = [
    { $0.cancel() }, { $0.finish() }, { $0.finish(withError: Flaw(1)) },
  ]

  @Test(arguments: ends.indices, [true, false])
  func `an observer of a property may end the operation and wait for that`(
    _ index: Int,
    isRecorded: Bool
  ) async throws {
    let queue = OperationQueue()
    let log = Log<String>()
    let recorder = RecordingObserver()
    let work = Work.open()
    if isRecorded { work.addObserver(recorder) }
    let observation = work.observe(\.isExecuting) { work, _ in
      guard work.isExecuting else { return }
      Self.ends[index](work)
      work.waitUntilFinished()
      log.add("\(work.isFinished)")
    }
    queue.addOperation(work)
    try await queue.untilAllOperationsAreFinished()
    observation.invalidate()
    #expect(log.entries == ["true"])
    #expect(!work.didExecute)
    guard isRecorded else { return }
    // It has ended before observers would have been notified of a start.
    #expect(!work.hasStarted && !recorder.kinds.contains(.started))
    #expect(recorder.kinds.suffix(2) == [.willFinish, .finished])
  }

  @Test func `a property observer's cancel prevents the body from running`() async throws {
    let queue = OperationQueue()
    let log = Log<String>()
    let work = ResultOperation { () async throws -> Int in
      log.add("body")
      return 1
    }
    let observation = work.observe(\.isExecuting) { work, _ in
      if work.isExecuting { work.cancel() }
    }
    queue.addOperation(work)
    try await queue.untilAllOperationsAreFinished()
    observation.invalidate()
    #expect(log.entries == [])
    #expect(work.isCancelled)
  }

  @Test func `an observer of isFinished may wait for the operation`() async throws {
    let queue = OperationQueue()
    let log = Log<Bool>()
    let work = Work()
    let observation = work.observe(\.isFinished) { work, _ in
      work.waitUntilFinished()
      log.add(work.isFinished)
    }
    queue.addOperation(work)
    try await queue.untilAllOperationsAreFinished()
    observation.invalidate()
    #expect(log.entries == [true])
  }

  @Test func `a property observer may attach an observer that is notified of the start`() {
    let world = World()
    let recorder = RecordingObserver()
    let work = Work()
    work.onStart { _ in }
    let observation = work.observe(\.isExecuting) { work, _ in
      if work.isExecuting { work.addObserver(recorder) }
    }
    world.run(work)
    observation.invalidate()
    #expect(recorder.kinds == [.started, .willFinish, .finished])
  }
}
