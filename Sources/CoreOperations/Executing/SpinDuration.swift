import Synchronization

/// How long a thread looks out for more work before it sleeps.
///
/// To look for as long as a wake-up costs is never more than twice the cost of the better choice. A
/// wake-up takes 5 µs where the woken thread's processor is awake, and ten times as long where it
/// sleeps, in a virtual machine above all. So the time follows what would have been needed when the
/// thread slept last, as long as that was worth the wake-up: where work comes just after the thread
/// has fallen asleep, it looks longer; where it comes later, less, and then not at all.
struct SpinDuration: Equatable {
  /// The least and the most that is worth a look, whatever a wake-up took: the thread may have
  /// waited for a processor.
  static let bounds = 5_000...50_000 as ClosedRange<Int64>

  private(set) var nanoseconds = bounds.lowerBound

  /// Work came when the thread slept already.
  ///
  /// - Parameters:
  ///   - idleTime: How long it had looked for work, and slept, until the work came, in nanoseconds.
  ///   - wakeUp: How long it then took until the thread ran.
  mutating func workCame(after idleTime: Int64, wakeUp: Int64) {
    // Twice, because the work comes from a thread that may have had to be woken as well.
    let most = Self.bounds.upperBound
    let worth = min(max(min(wakeUp, most) * 2, Self.bounds.lowerBound), most)
    if idleTime <= worth {
      nanoseconds = min(max(nanoseconds, idleTime * 2), worth)
    } else {
      nanoseconds = nanoseconds < 1_000 ? 0 : nanoseconds / 2
    }
  }
}

/// Whether threads that watched for the end of a wait, before they slept, saw it.
///
/// While they do, each watches. After three that didn't, only one in sixteen does, to find out
/// whether that has changed.
struct WatchHistory: Equatable {
  /// How long a thread watches: what an operation takes that runs at once, and the half of what a
  /// sleep costs.
  static let nanoseconds: Int64 = 4_000

  /// Waits since the last success, whether they watched or not.
  private var failures: UInt32 = 0

  /// A wait begins.
  ///
  /// - Returns: Whether to watch; then ``note(hasPaidOff:)`` follows.
  mutating func next() -> Bool {
    if failures < 3 || failures % 16 == 0 { return true }
    failures &+= 1
    return false
  }

  /// A thread has watched.
  mutating func note(hasPaidOff: Bool) { failures = hasPaidOff ? 0 : failures &+ 1 }
}

extension WatchHistory {
  /// That of the process.
  ///
  /// A hint: of two threads that change it at the same time, one is forgotten.
  private static let shared = Atomic<UInt32>(0)

  static func change<Result>(_ body: (inout WatchHistory) -> Result) -> Result {
    var history = WatchHistory(failures: shared.load(ordering: .relaxed))
    let old = history
    defer { if history != old { shared.store(history.failures, ordering: .relaxed) } }
    return body(&history)
  }

  /// Whether the wait that begins on this thread is to watch; on one processor, what is waited for
  /// couldn't run meanwhile.
  static func nextOfProcess() -> Bool { Processors.areSeveral && change { $0.next() } }
}
