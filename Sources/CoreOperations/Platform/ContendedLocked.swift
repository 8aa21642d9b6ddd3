/// A ``Locked`` for what several threads take in turns for much of their time.
///
/// `Mutex` spins for up to a thousand pauses, some 50 µs, before it lets the kernel have its thread
/// sleep. Where more threads than processors want the lock of a queue, its holder is often one of
/// those that don't run, and the others burnt two thirds of the machine's time (cpu-clock profile,
/// a load of 6 on 2 cores). The adaptive mutex of glibc spins for as long as it was worth it
/// before, and for a tenth of that at most: twice as fast there, and as fast as the other on a
/// machine that is idle otherwise.
///
/// In debug builds it is a ``Locked``, which traps when its own thread locks it again, and wherever
/// there is no better one.
#if canImport(Glibc) && !SANITIZE_THREAD && !DEBUG
struct ContendedLocked<Value>: ~Copyable, Sendable {
  private let locked: PthreadLocked<Value>

  init(_ value: consuming sending Value) { locked = PthreadLocked(value, isAdaptive: true) }

  /// Runs `body` with exclusive access to the value and returns its result.
  @inline(__always)
  borrowing func withLock<Result: ~Copyable>(_ body: (inout Value) -> Result) -> Result {
    locked.withLock(body)
  }
}
#else
typealias ContendedLocked = Locked
#endif
