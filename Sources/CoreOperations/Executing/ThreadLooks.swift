#if os(Linux) || os(Android)
/// What the monitor of the pool has seen of one thread, and whether the thread is blocked.
///
/// A thread that asks every half millisecond whether something has happened, and sleeps in between,
/// uses some processor time between any two looks: it is as blocked as one that sleeps throughout.
/// Processor time alone doesn't show that: the kernel has to say that the thread sleeps.
struct ThreadLooks {
  /// The part of the time between two looks that a blocked thread may compute.
  private static let part: Int64 = 10

  private var last: (processorTime: Int64, time: Int64)?

  /// The thread had nothing to do since the last look.
  mutating func wasIdle() { last = nil }

  /// Takes a look.
  ///
  /// - Parameters:
  ///   - processorTime: What the thread has computed so far, in nanoseconds.
  ///   - time: The time of the look, in nanoseconds.
  ///   - isAsleep: Whether it sleeps now; asked only if that matters.
  /// - Returns: Whether the thread is blocked.
  mutating func looked(
    processorTime: Int64,
    at time: Int64,
    isAsleep: @autoclosure () -> Bool
  ) -> Bool {
    defer { last = (processorTime, time) }
    guard let last else { return false }
    let used = processorTime - last.processorTime
    if used * Self.part >= time - last.time { return false }
    // One that waits for a processor uses none either.
    return isAsleep()
  }
}
#endif
