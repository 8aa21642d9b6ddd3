import CoreOperations
import Dispatch
import Synchronization
import TestSupport
import Testing

/// What the stress tests of the core share.
enum CoreStress {
  #if SANITIZE_THREAD
  /// The sanitized run does one twentieth.
  static let divisor = 20
  #else
  static let divisor = 1
  #endif

  /// The seeds to run: `OPERATIONS_STRESS_SEEDS` of them, 1,000 unless set, or just the one that is
  /// given by `OPERATIONS_STRESS_SEED`.
  static var seeds: [UInt64] {
    if let seed = Effort.number("OPERATIONS_STRESS_SEED") { return [UInt64(seed)] }
    let count = Effort.number("OPERATIONS_STRESS_SEEDS") ?? 1_000
    return (0..<max(1, count / divisor)).map { UInt64($0) }
  }

  static func scaled(_ count: Int) -> Int { max(2, count / divisor) }

  /// A small generator: the same seed gives the same numbers everywhere.
  struct Random: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
      state &+= 0x9e37_79b9_7f4a_7c15
      var mixed = state
      mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
      mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
      return mixed ^ (mixed >> 31)
    }

    /// True in so many of a hundred cases.
    mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &self) < percent }
  }

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

  /// Opens once and stays open.
  final class Gate: Sendable {
    private struct State {
      var isOpen = false
      var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Locked(State())

    func open() {
      let waiting = state.withLock { state in
        state.isOpen = true
        defer { state.waiting = [] }
        return state.waiting
      }
      for continuation in waiting { continuation.resume() }
    }

    func opened() async {
      await withCheckedContinuation { continuation in
        let isOpen = state.withLock { state in
          if !state.isOpen { state.waiting.append(continuation) }
          return state.isOpen
        }
        if isOpen { continuation.resume() }
      }
    }
  }

  /// A gate that opens when it was counted down to nothing.
  final class Countdown: Sendable {
    private let left: Atomic<Int>
    let done = Gate()

    init(_ count: Int) { left = Atomic(count) }

    func count() {
      if left.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 { done.open() }
    }
  }

  /// Counts instances that are alive.
  final class Live: Sendable {
    private let alive = Atomic<Int>(0)
    private let none = Locked<Gate?>(nil)

    var now: Int { alive.load(ordering: .acquiring) }

    func born() { alive.add(1, ordering: .relaxed) }

    func died() {
      if alive.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 {
        none.withLock { $0 }?.open()
      }
    }

    /// Waits until nothing is alive; after the last was made.
    func ended() async {
      let gate = Gate()
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
