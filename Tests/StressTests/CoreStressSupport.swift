import AdvancedOperationsTesting
import CoreOperations
import Dispatch
import Synchronization
import TestSupport
import Testing

/// What the stress tests of the core share.
enum CoreStress {
  #if SANITIZE_THREAD || SANITIZE_ADDRESS
  /// The sanitized run does one twentieth.
  static let divisor = 20
  #else
  /// Each commit runs them sanitized, too.
  static let divisor = Effort.isNightly ? 1 : 5
  #endif

  /// The seeds to run: `OPERATIONS_STRESS_SEEDS` of them, 1,000 unless set, or just the one that is
  /// given by `OPERATIONS_STRESS_SEED`.
  static var seeds: [UInt64] {
    if let seed = Effort.number("OPERATIONS_STRESS_SEED") { return [UInt64(seed)] }
    let count = Effort.number("OPERATIONS_STRESS_SEEDS") ?? 1_000
    return (0..<max(1, count / divisor)).map { UInt64($0) }
  }

  static func scaled(_ count: Int) -> Int { max(2, count / divisor) }

  typealias Random = SplitMix64

  /// A number that threads change, and the largest that it ever was.
  final class Tally: Sendable {
    private let value = Atomic<Int>(0)
    private let highest = Atomic<Int>(0)

    var now: Int { value.load(ordering: .acquiring) }
    var peak: Int { highest.load(ordering: .acquiring) }

    func add(_ change: Int = 1) {
      let after = value.add(change, ordering: .acquiringAndReleasing).newValue
      highest.max(after, ordering: .acquiringAndReleasing)
    }
  }

  /// Counts instances that are alive.
  final class Live: Sendable {
    private let alive = Atomic<Int>(0)
    private let none = Locked<Latch?>(nil)

    var now: Int { alive.load(ordering: .acquiring) }

    func born() { alive.add(1, ordering: .relaxed) }

    func died() {
      if alive.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 {
        none.withLock { $0 }?.open()
      }
    }

    /// Waits until nothing is alive; after the last was made.
    func ended() async {
      let gate = Latch()
      none.withLock { $0 = gate }
      if now > 0 { await gate.opened() }
    }
  }

  /// Starts a thread that nobody joins, with a stack of its own size.
  static func launch(stackSize: Int? = nil, _ body: @escaping @Sendable () -> Void) {
    Threads.launch(stackSize: stackSize, body)
  }

  /// Runs a body on a thread of its own.
  static func onThread<Result: Sendable>(
    stackSize: Int? = nil,
    _ body: @escaping @Sendable () -> Result
  ) async -> Result { await Threads.run(stackSize: stackSize, body) }
}

extension CoreStress {
  static let smallStack = 512 * 1_024

  /// Runs workers on two threads with a small stack, so that neither running nor releasing needs
  /// more.
  final class SmallStacks: OperationExecutor {
    static let shared = SmallStacks()
    private let line = Locked<[@Sendable () -> Void]>([])
    private let waiting = DispatchSemaphore(value: 0)

    private init() {
      for _ in 0..<2 { CoreStress.launch(stackSize: CoreStress.smallStack) { self.run() } }
    }

    func enqueue(_ worker: @escaping @Sendable () -> Void) {
      line.withLock { $0.append(worker) }
      waiting.signal()
    }

    private func run() {
      while true {
        waiting.wait()
        line.withLock { $0.removeFirst() }()
      }
    }
  }
}

extension SplitMix64 {
  /// True in so many of a hundred cases.
  mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &self) < percent }
}
