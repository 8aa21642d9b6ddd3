import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import TestSupport
import Testing

/// A callback that waits for its own operation would wait for ever.
@Suite(.watched) struct `A wait for oneself traps` {
  private static let sentence =
    "waitUntilFinished() was called on operation “work” from one of its own callbacks, which it "
    + "waits for. Wait somewhere else, or use onFinish."

  @Test func `waiting for the operation in its own didStart traps`() async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) {
      let work = Work("work")
      work.onStart { $0.waitForIt() }
      work.start()
    }
    try expectMessage(Self.sentence, in: result)
  }

  @Test func `waiting for the operation in its own didFinish traps`() async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) {
      let work = Work("work")
      work.onFinish { operation, _ in operation.waitForIt() }
      work.start()
    }
    try expectMessage(Self.sentence, in: result)
  }

  @Test func `waiting for the operation in its own hook traps`() async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) {
      final class Waits: Work, @unchecked Sendable {
        override func finished(withErrors errors: [any Error]) { waitForIt() }
      }
      Waits("work").start()
    }
    try expectMessage(Self.sentence, in: result)
  }

  @Test func `waiting for an operation within its nested callback traps`() async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) {
      let work = Work("work")
      let inner = Work("inner")
      inner.onStart { _ in work.waitForIt() }
      work.onStart { _ in inner.start() }
      work.start()
    }
    try expectMessage(Self.sentence, in: result)
  }

  @Test func `waiting for another or a finished operation in a callback doesn't trap`() async {
    let didWait = await onThread {
      let other = Work("other")
      let work = Work("work")
      let log = Log<Bool>()
      work.onStart { _ in
        other.start()
        other.waitForIt()
        log.add(other.isFinished)
      }
      work.start()
      work.waitForIt()
      work.onFinish { operation, _ in
        operation.waitForIt()
        log.add(operation.isFinished)
      }
      return log.entries
    }
    #expect(didWait == [true, true])
  }
}

extension AdvancedOperation {
  /// Not marked as unusable in tasks: the body of an exit test is one.
  fileprivate func waitForIt() { (self as any Waiting).waitUntilFinished() }
}

private protocol Waiting { func waitUntilFinished() }
extension AdvancedOperation: Waiting {}

/// A worker that asks an immediate condition has to come back: others need it.
@Suite(.watched) struct `A wait in an immediate condition traps` {
  @Test func `an immediate condition that waits for a conditioned operation traps`() async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) {
      let queue = AdvancedOperationQueue()
      queue.maxConcurrentOperationCount = 1
      let other = Work("other")
      other.addCondition(Immediate())
      let work = Work("work")
      work.addCondition(
        Immediate { _ in
          other.waitForIt()
          return .satisfied
        }
      )
      queue.addOperations([work, other])
      try await queue.untilAllOperationsAreFinished()
    }
    try expectMessage(
      "waitUntilFinished() was called on other by an immediate condition of operation “work”, on a "
        + "worker that others need: an ImmediateCondition must not block. Make it an "
        + "OperationCondition whose evaluate(for:) awaits.",
      in: result
    )
  }
}
