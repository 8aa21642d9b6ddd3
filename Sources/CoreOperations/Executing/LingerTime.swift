/// How long a thread looks out for more work before it sleeps.
///
/// To look for as long as a wake-up costs is never more than twice the cost of the better choice. A
/// wake-up takes 5 µs where the woken thread's processor is awake, and ten times as long where it
/// sleeps, in a virtual machine above all. So the time follows what would have been needed when the
/// thread slept last, as long as that was worth the wake-up: where work comes just after the thread
/// has fallen asleep, it looks longer; where it comes later, less, and then not at all.
struct LingerTime: Equatable {
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
