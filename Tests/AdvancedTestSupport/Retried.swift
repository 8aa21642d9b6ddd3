package import AdvancedOperations
import AdvancedOperationsTesting
import Testing

extension World {
  /// Fails a number of times, each attempt after a second, and notes when it begins.
  package func flaky(
    _ name: String = "flaky",
    failures: Int = 1,
    _ policy: RetryPolicy = .constant(.seconds(10)).attempts(5).releasingSlot(),
    times: Log<Duration> = Log()
  ) -> ResultOperation<Int> {
    let attempts = Counter()
    let clock = simulation.environment.clock
    return ResultOperation(name: name, retry: policy) {
      times.add(clock.now)
      try await clock.sleep(for: .seconds(1))
      let attempt = attempts.add()
      if attempt <= failures { throw Flaw(attempt) }
      return attempt
    }
  }

  package func body(
    _ name: String,
    seconds: Int,
    times: Log<Duration> = Log()
  ) -> ResultOperation<Void> {
    let clock = simulation.environment.clock
    return ResultOperation(name: name) {
      times.add(clock.now)
      try await clock.sleep(for: .seconds(seconds))
    }
  }

  /// Lets the first attempt of an operation begin before anything else is added.
  package func begin(_ work: ResultOperation<Int>) {
    queue.addOperation(work)
    simulation.advance(by: .zero)
    #expect(work.isExecuting)
  }
}
