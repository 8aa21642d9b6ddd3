/// How long a thread looks out for more work before it sleeps.
///
/// To look for as long as a wake-up costs is never more than twice the cost of the better choice. A
/// wake-up costs 5 µs where the woken thread's processor is awake, and ten times as much where it
/// sleeps, in a virtual machine above all: so the time follows what would have been needed when the
/// thread slept last. Where work comes just after the thread has fallen asleep, it looks longer;
/// where it comes later, less, and then not at all.
struct LingerTime: Equatable {
  static let longest: Int64 = 50_000

  private(set) var nanoseconds: Int64 = 5_000

  /// Work came after the thread had looked for it, and slept, for this time in all.
  mutating func workCame(after idleTime: Int64) {
    if idleTime <= Self.longest {
      nanoseconds = min(max(nanoseconds, idleTime * 2), Self.longest)
    } else {
      nanoseconds = nanoseconds < 1_000 ? 0 : nanoseconds / 2
    }
  }
}
