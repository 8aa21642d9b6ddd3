import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import CoreOperations
import TestSupport

/// Records bodies: when they begin and end, and the largest number at the same time.
final class Bodies: Sendable {
  let begins = Log<Duration>()
  let ends = Log<Duration>()
  let going = Locked((now: 0, most: 0))

  var most: Int { going.withLock { $0.most } }

  func run(
    _ duration: Duration,
    ignoringCancels: Bool = false,
    _ body: () -> Int
  ) async -> Int {
    let clock = OperationClock.current
    begins.add(clock.now)
    going.withLock { going in
      going.now += 1
      going.most = max(going.most, going.now)
    }
    if ignoringCancels {
      let end = clock.now + duration
      await withCheckedContinuation { continuation in
        _ = clock.schedule(at: end) { continuation.resume() }
      }
    } else {
      try? await clock.sleep(for: duration)
    }
    going.withLock { $0.now -= 1 }
    ends.add(clock.now)
    return body()
  }
}

/// Shared operations for numbers, whose value is the number.
struct Desk: Sendable {
  let shared: SharedOperations<Int, Int>
  /// The keys for which an operation was created, in order.
  let made = Log<Int>()
  /// The keys whose bodies have begun, in order.
  let keys = Log<Int>()
  let bodies: Bodies
  private let simulation: SimulatedEnvironment

  /// Creates shared operations.
  ///
  /// The closure gets the number of the body, from 0, and throws if the body is to fail.
  init(
    _ simulation: SimulatedEnvironment,
    _ queue: OperationQueue,
    taking duration: Duration,
    ignoringCancels: Bool = false,
    _ check: @escaping @Sendable (Int) throws -> Void = { _ in }
  ) {
    self.simulation = simulation
    let (bodies, made, keys) = (Bodies(), made, keys)
    self.bodies = bodies
    shared = SharedOperations("numbers", queue: queue) { key in
      made.add(key)
      return ResultOperation(name: "number \(key)") {
        let number = keys.entries.count
        keys.add(key)
        _ = await bodies.run(duration, ignoringCancels: ignoringCancels) { key }
        try check(number)
        return key
      }
    }
  }

  init(
    _ world: World,
    taking duration: Duration,
    ignoringCancels: Bool = false,
    _ check: @escaping @Sendable (Int) throws -> Void = { _ in }
  ) {
    self.init(
      world.simulation,
      world.queue,
      taking: duration,
      ignoringCancels: ignoringCancels,
      check
    )
  }

  func call(
    _ key: Int,
    after delay: Duration = .zero,
    fresh: Bool = false,
    priority: TaskPriority? = nil
  ) -> Call {
    Call(simulation, after: delay, priority: priority) { [shared] in
      fresh ? try await shared.freshValue(for: key) : try await shared.value(for: key)
    }
  }
}
