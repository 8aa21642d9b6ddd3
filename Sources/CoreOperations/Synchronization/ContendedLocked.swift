#if canImport(Glibc) && !SANITIZE_THREAD && !DEBUG
import Glibc

/// A ``Locked`` for what several threads take in turns for much of their time.
///
/// `Mutex` spins for up to a thousand pauses, some 50 µs, before it lets the kernel have its thread sleep.
/// Where more threads than processors want the lock of a queue, its holder is often one of those that
/// don't run, and the others burnt two thirds of the machine's time (cpu-clock profile, a load of 6 on 2
/// cores). This one spins for as long as it was worth it before, and for a tenth of that at most: twice as
/// fast there, and as fast as the other on a machine that is idle otherwise.
@safe
struct ContendedLocked<Value>: ~Copyable, @unchecked Sendable {
  // Sendable: both pointers are only followed with the mutex held, and freed in `deinit`.
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private let value: UnsafeMutablePointer<Value>

  init(_ value: consuming sending Value) {
    var attributes = pthread_mutexattr_t()
    unsafe pthread_mutexattr_init(&attributes)
    unsafe pthread_mutexattr_settype(&attributes, Int32(PTHREAD_MUTEX_ADAPTIVE_NP))
    // In cache lines of its own, so that looking for it disturbs nobody.
    unsafe mutex = UnsafeMutableRawPointer.allocate(byteCount: 128, alignment: 128)
      .bindMemory(to: pthread_mutex_t.self, capacity: 1)
    unsafe pthread_mutex_init(mutex, &attributes)
    unsafe pthread_mutexattr_destroy(&attributes)
    unsafe self.value = .allocate(capacity: 1)
    unsafe self.value.initialize(to: value)
  }

  deinit {
    unsafe pthread_mutex_destroy(mutex)
    unsafe mutex.deallocate()
    unsafe value.deinitialize(count: 1)
    unsafe value.deallocate()
  }

  /// Runs `body` with exclusive access to the value and returns its result.
  @inline(__always)
  borrowing func withLock<Result: ~Copyable>(_ body: (inout Value) -> Result) -> Result {
    unsafe pthread_mutex_lock(mutex)
    defer { unsafe pthread_mutex_unlock(mutex) }
    return unsafe body(&value.pointee)
  }
}
#else
/// A ``Locked`` for what several threads take in turns for much of their time.
///
/// In debug builds it is one, which traps when its own thread locks it again, and wherever there is no
/// better one.
typealias ContendedLocked = Locked
#endif
