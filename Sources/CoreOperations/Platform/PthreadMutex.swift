#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Android)
import Android
#endif

/// A mutex of the system, at an address that doesn't change, in separate cache lines.
///
/// The type is for cases in which the standard library's mutex isn't suitable: see ``ContendedLocked``, and
/// the replacement of ``Locked`` under ThreadSanitizer.
@safe
struct PthreadMutex: ~Copyable, @unchecked Sendable {
  // Sendable: the pointer is only passed to functions that may be called from any thread, and freed in
  // `deinit`.
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>

  /// - Parameter isAdaptive: A Boolean value that indicates whether a thread spins for a moment before it
  ///   sleeps, if the system supports that.
  init(isAdaptive: Bool = false) {
    unsafe mutex = UnsafeMutableRawPointer.allocate(byteCount: 128, alignment: 128)
      .bindMemory(to: pthread_mutex_t.self, capacity: 1)
    #if canImport(Glibc)
    if isAdaptive {
      var attributes = pthread_mutexattr_t()
      unsafe pthread_mutexattr_init(&attributes)
      unsafe pthread_mutexattr_settype(&attributes, Int32(PTHREAD_MUTEX_ADAPTIVE_NP))
      unsafe pthread_mutex_init(mutex, &attributes)
      unsafe pthread_mutexattr_destroy(&attributes)
      return
    }
    #endif
    unsafe pthread_mutex_init(mutex, nil)
  }

  deinit {
    unsafe pthread_mutex_destroy(mutex)
    unsafe mutex.deallocate()
  }

  @inline(__always)
  borrowing func withLock<Result: ~Copyable>(_ body: () -> Result) -> Result {
    unsafe pthread_mutex_lock(mutex)
    defer { unsafe pthread_mutex_unlock(mutex) }
    return body()
  }
}

/// A value behind a ``PthreadMutex``.
@safe
struct PthreadLocked<Value>: ~Copyable, @unchecked Sendable {
  // Sendable: the value is accessed only with the mutex held.
  private let mutex: PthreadMutex
  private let value: UnsafeMutablePointer<Value>

  init(_ value: consuming sending Value, isAdaptive: Bool = false) {
    mutex = PthreadMutex(isAdaptive: isAdaptive)
    unsafe self.value = .allocate(capacity: 1)
    unsafe self.value.initialize(to: value)
  }

  deinit {
    unsafe value.deinitialize(count: 1)
    unsafe value.deallocate()
  }

  @inline(__always)
  borrowing func withLock<Result: ~Copyable>(_ body: (inout Value) -> Result) -> Result {
    mutex.withLock { unsafe body(&value.pointee) }
  }
}

/// A ``Locked`` for a value that several threads use alternately for much of their time.
///
/// `Mutex` spins for up to a thousand pauses, some 50 µs, before the kernel puts its thread to sleep. If more
/// threads than processors need the lock of a queue, its holder is often a thread that doesn't run. The other
/// threads then wasted two thirds of the machine's time (cpu-clock profile, a load of 6 on 2 cores). The
/// adaptive mutex of glibc adapts its spinning to earlier waits, and spins for at most a tenth of the time of
/// `Mutex`. The adaptive mutex was twice as fast in this case, and as fast as `Mutex` on a machine that is
/// otherwise idle.
///
/// In debug builds it is a ``Locked``, which traps when its own thread locks it again. It is also a
/// ``Locked`` on systems without a better mutex.
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
