import Synchronization

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
