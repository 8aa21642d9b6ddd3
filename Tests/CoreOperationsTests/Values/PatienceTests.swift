import Synchronization
import TestSupport
import Testing

@testable import CoreOperations

@Suite struct `The time for which a worker polls for work` {
  @Test func `the spin duration grows to twice the wait if work arrives late`() {
    var time = SpinDuration()
    time.workCame(after: 12_000, wakeUp: 40_000)
    #expect(time.nanoseconds == 24_000)
    time.workCame(after: 20_000, wakeUp: 40_000)
    #expect(time.nanoseconds == 40_000)
    // It was long enough.
    time.workCame(after: 1_000, wakeUp: 40_000)
    #expect(time.nanoseconds == 40_000)
  }

  @Test func `the spin duration never exceeds the worth of the spared wake-up`() {
    var time = SpinDuration()
    time.workCame(after: 9_000, wakeUp: 5_000)
    #expect(time.nanoseconds == 10_000)
    // Wake-ups became short: what they are worth is less than what was needed.
    time.workCame(after: 9_000, wakeUp: 100)
    #expect(time.nanoseconds == 5_000)
    time.workCame(after: 4_000, wakeUp: 0)
    #expect(time.nanoseconds == SpinDuration.bounds.lowerBound)
    // The thread has waited for a processor.
    time.workCame(after: 49_000, wakeUp: .max)
    #expect(time.nanoseconds == SpinDuration.bounds.upperBound)
  }

  @Test func `the spin duration shrinks to zero and grows again`() {
    var time = SpinDuration()
    var steps = 0
    while time.nanoseconds > 0, steps < 100 {
      let before = time.nanoseconds
      time.workCame(after: 10_001, wakeUp: 5_000)
      #expect(time.nanoseconds < before)
      steps += 1
    }
    #expect(time.nanoseconds == 0)
    time.workCame(after: .max, wakeUp: .max)
    #expect(time.nanoseconds == 0)
    time.workCame(after: 3_000, wakeUp: 5_000)
    #expect(time.nanoseconds == 6_000)
  }
}

@Suite struct `Watching for an end before sleeping` {
  @Test func `watching before sleeping continues while it pays off`() {
    var history = WatchHistory()
    for _ in 0..<100 {
      let isWatching = history.next()
      #expect(isWatching)
      history.note(hasPaidOff: true)
    }
    #expect(history == WatchHistory())
  }

  @Test func `watching before sleeping is retried occasionally and resumes after a success`() {
    var history = WatchHistory()
    var watched: [Int] = []
    for wait in 0..<64 where history.next() {
      watched.append(wait)
      history.note(hasPaidOff: false)
    }
    #expect(watched == [0, 1, 2, 16, 32, 48])
    while !history.next() {}
    history.note(hasPaidOff: true)
    let isWatching = history.next()
    #expect(isWatching)
  }

  @Test func `watching before sleeping is retried forever without a success`() {
    var history = WatchHistory()
    var watched = 0
    for _ in 0..<1_000_000 where history.next() {
      watched += 1
      history.note(hasPaidOff: false)
    }
    #expect(watched == 3 + 999_999 / 16)
  }
}

@Suite(.watched) struct `The wait of a thread` {
  @Test func `a thread's wait that has already ended doesn't block`() {
    let wait = ThreadWait()
    wait.finish()
    wait.block()
  }

  /// The end comes while the thread has not begun to wait, watches, falls asleep and sleeps.
  @Test func `a thread's wait ends once and publishes earlier writes`() async throws {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    for round in 0..<Effort.rounds(2_000) {
      let wait = ThreadWait()
      let value = Shared()
      queue.addOperation {
        for _ in 0..<(round % 64) * 16 { value.touch() }
        value.finish(wait)
      }
      wait.block()
      #expect(value.isDone)
    }
  }

  private final class Shared: Sendable {
    private let touches = Atomic(0)
    private let done = Atomic(0)

    var isDone: Bool { done.load(ordering: .relaxed) == 1 }

    func touch() { touches.add(1, ordering: .relaxed) }

    func finish(_ wait: ThreadWait) {
      // Relaxed: the wait is what makes it visible.
      done.store(1, ordering: .relaxed)
      wait.finish()
    }
  }
}
