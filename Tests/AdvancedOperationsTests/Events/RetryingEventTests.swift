import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedOperationsVisualization
import AdvancedTestSupport
import Testing

/// That an operation tries again is an event like others.
@Suite struct `Trying again is visible` {
  private struct Watcher: OperationObserver {
    let log: Log<String>

    func operation(
      _ operation: AdvancedOperation,
      willRetry retry: OperationRetry
    ) {
      let (attempt, delay, error) = (retry.nextAttempt, retry.delay, retry.error)
      log.add("\(operation.label): attempt \(attempt) after \(delay) because of \(error)")
    }
  }

  /// Fails twice, in a body or as operations that are made.
  private static func flaky(
    _ kind: Int,
    _ attempts: Log<Int?> = Log(),
    _ policy: RetryPolicy = .linear(.seconds(10)).attempts(5)
  ) -> AdvancedOperation {
    if kind == 0 {
      return ResultOperation(name: "flaky", retry: policy) {
        let attempt = AdvancedOperation.current?.attempt
        attempts.add(attempt)
        if let attempt, attempt < 3 { throw Flaw(attempt) }
      }
    }
    return RetryOperation(name: "flaky", retry: policy) { attempt in
      attempts.add(AdvancedOperation.current?.attempt)
      return attempt < 3 ? Work.failing("attempt", attempt) : Work("attempt")
    }
  }

  @Test(arguments: 0...1)
  func `observers are notified before each wait for an attempt`(kind: Int) {
    let world = World()
    let log = Log<String>()
    let times = Log<Duration>()
    let work = Self.flaky(kind)
    work.addObserver(Watcher(log: log))
    work.addObserver(
      BlockObserver(willRetry: { _, _ in times.add(world.simulation.now) })
    )
    world.run(work)
    #expect(
      log.entries == [
        "flaky: attempt 2 after 10.0 seconds because of flaw 1",
        "flaky: attempt 3 after 20.0 seconds because of flaw 2",
      ]
    )
    #expect(times.entries == [.zero, .seconds(10)])
    #expect(work.kind == .succeeded)
  }

  @Test(arguments: 0...1)
  func `an operation has the number of its current attempt`(kind: Int) {
    let world = World()
    let attempts = Log<Int?>()
    let work = Self.flaky(kind, attempts)
    #expect(work.attempt == 1)
    world.run(work)
    #expect(attempts.entries == [1, 2, 3])
    #expect(work.attempt == 3)
  }

  @Test func `a retry is an event of the sequence and of a recorder`() {
    let world = World()
    let recorder = RecordingObserver()
    let seen = Log<String>()
    let work = Self.flaky(0)
    work.addObserver(recorder)
    let events = work.events
    world.queue.addOperation(
      ResultOperation {
        for await event in events {
          guard case .retrying(let retry) = event else { continue }
          let (attempt, delay, error) = (retry.nextAttempt, retry.delay, retry.error)
          seen.add("\(attempt) \(delay) \(error)")
        }
      }
    )
    world.run(work)
    #expect(seen.entries == ["2 10.0 seconds flaw 1", "3 20.0 seconds flaw 2"])
    #expect(
      recorder.kinds == [.enqueued, .started, .retrying, .retrying, .willFinish, .finished]
    )
  }

  @Test func `a log has a line for each retry`() {
    let world = World()
    let lines = Log<String>()
    let work = Self.flaky(0)
    work.addObserver(LogObserver { lines.add($0) })
    let impatient = Self.flaky(0, Log(), .immediate.attempts(2))
    impatient.addObserver(LogObserver { lines.add($0) })
    world.run(work)
    world.run(impatient)
    #expect(lines.entries.contains("flaky: attempt 1 failed, tries again in 10 s: flaw 1"))
    #expect(lines.entries.contains("flaky: attempt 2 failed, tries again in 20 s: flaw 2"))
    #expect(lines.entries.contains("flaky: attempt 1 failed, tries again immediately: flaw 1"))
  }

  @Test func `timelines have a mark for each retry`() throws {
    let world = World()
    let recorder = TimelineRecorder()
    let work = Self.flaky(0)
    work.addObserver(recorder)
    world.run(work)
    let span = try #require(recorder.timeline.spans.first)
    #expect(span.retries == [.zero, .seconds(10)])
    #expect(recorder.timeline.chromeTrace().contains("\"retry flaky\""))
    #expect(recorder.timeline.svg().contains("retried 2 times"))
  }

  @Test func `observers aren't notified of an attempt that never begins`() {
    let world = World()
    let log = Log<String>()
    let givenUp = Self.flaky(0, Log(), .immediate.attempts(1))
    let cancelled = ResultOperation(name: "cancelled", retry: .immediate.attempts(3)) {
      AdvancedOperation.current?.cancel()
      throw Flaw(1)
    }
    for work in [givenUp, cancelled] {
      work.addObserver(Watcher(log: log))
      world.run(work)
    }
    #expect(log.entries.isEmpty)
  }

  @Test(arguments: 0...1)
  func `a cancel from a retry observer ends the operation immediately`(kind: Int) {
    let world = World()
    let attempts = Log<Int?>()
    let work = Self.flaky(kind, attempts)
    work.addObserver(BlockObserver(willRetry: { work, _ in work.cancel() }))
    world.run(work)
    #expect(work.kind == .cancelled)
    #expect(work.flawNumbers == [1])
    #expect(attempts.entries == [1])
    #expect(world.simulation.now == .zero)
  }
}
