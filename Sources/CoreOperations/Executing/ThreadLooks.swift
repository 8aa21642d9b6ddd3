#if os(Linux) || os(Android)
/// What the monitor of the pool has seen of one thread, and whether the thread is blocked.
///
/// A thread that asks every half millisecond whether something has happened, and sleeps in between,
/// uses some processor time between any two looks: it is as blocked as one that sleeps throughout.
/// Processor time alone doesn't show that: the kernel has to say that the thread sleeps.
struct ThreadLooks {
  /// The part of the time between two looks that a blocked thread may compute.
  private static let part: Int64 = 10

  /// How often in a row a thread that uses no processor time counts as still asleep unseen.
  private static let longestGuess = 3

  private struct Look {
    let processorTime: Int64
    let time: Int64
    /// Whether the kernel reported the thread as sleeping; nil if it wasn't asked.
    var isAsleep: Bool?
    var guesses = 0
  }

  private var last: Look?

  /// The thread had nothing to do since the last look.
  mutating func wasIdle() { last = nil }

  /// Takes a look.
  ///
  /// - Parameters:
  ///   - processorTime: What the thread has computed so far, in nanoseconds.
  ///   - time: The time of the look, in nanoseconds.
  ///   - isAsleep: Whether it sleeps now; asked only if that matters, because to ask the kernel
  ///     takes fifteen times as long as all the rest.
  /// - Returns: Whether the thread is blocked.
  mutating func looked(
    processorTime: Int64,
    at time: Int64,
    isAsleep: @autoclosure () -> Bool
  ) -> Bool {
    var look = Look(processorTime: processorTime, time: time)
    defer { last = look }
    guard let last else { return false }
    let used = processorTime - last.processorTime
    if used * Self.part >= time - last.time { return false }
    if used == 0, let wasAsleep = last.isAsleep {
      // One that waits for a processor doesn't fall asleep before it has one. One that sleeps may
      // have been woken, and wait for a processor.
      look.guesses = wasAsleep ? last.guesses + 1 : 0
      look.isAsleep = wasAsleep
      if look.guesses <= Self.longestGuess { return wasAsleep }
      look.guesses = 0
    }
    let answer = isAsleep()
    look.isAsleep = answer
    return answer
  }
}
#endif
