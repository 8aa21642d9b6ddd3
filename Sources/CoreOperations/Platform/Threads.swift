import Dispatch

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Android)
import Android
#endif

#if canImport(ObjectiveC)
import ObjectiveC
#endif

#if os(Linux) || os(Android)
/// A thread that no other thread joins.
enum DetachedThread {
  /// The least size of its stack.
  ///
  /// The default of the system is 8 MiB with glibc, and 128 KiB with musl, where bodies of
  /// operations would overflow it.
  private static let leastStackSize = 1 << 20

  /// Starts a thread.
  ///
  /// - Parameter body: What the thread runs.
  /// - Returns: 0, or the number of the error for which the system refuses the thread: `EAGAIN` at a
  ///   limit of the threads or of the memory that the process or its container may have.
  static func launch(_ body: @escaping @Sendable () -> Void) -> Int32 {
    final class Start {
      let body: @Sendable () -> Void
      init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }
    let attributes = UnsafeMutablePointer<pthread_attr_t>.allocate(capacity: 1)
    defer { unsafe attributes.deallocate() }
    let error = unsafe pthread_attr_init(attributes)
    if error != 0 { return error }
    defer { unsafe pthread_attr_destroy(attributes) }
    unsafe pthread_attr_setdetachstate(attributes, Int32(PTHREAD_CREATE_DETACHED))
    var stackSize = 0
    unsafe pthread_attr_getstacksize(attributes, &stackSize)
    if stackSize < leastStackSize {
      unsafe pthread_attr_setstacksize(attributes, leastStackSize)
    }
    #if canImport(Musl)
    var thread: pthread_t?
    #else
    var thread = pthread_t()
    #endif
    let start = unsafe Unmanaged.passRetained(Start(body))
    let result = unsafe pthread_create(
      &thread,
      attributes,
      { argument in
        guard let argument = unsafe argument else { return nil }
        let start = unsafe Unmanaged<Start>.fromOpaque(argument).takeRetainedValue()
        start.body()
        return nil
      },
      start.toOpaque()
    )
    if result != 0 { unsafe start.release() }
    return result
  }
}
#endif

#if os(Linux) || os(Android)
/// What the kernel knows about one thread: how long it has computed, and whether it sleeps.
struct ThreadActivity: Sendable {
  private let clock: clockid_t?
  private let path: String

  /// That of the calling thread.
  init() {
    var clock = clockid_t()
    self.clock = unsafe pthread_getcpuclockid(pthread_self(), &clock) == 0 ? clock : nil
    path = "/proc/\(FileSystem.target(ofLink: "/proc/thread-self") ?? "")/stat"
  }

  /// How many nanoseconds of a processor's time the thread has used; nil when the system can't say,
  /// because the thread has ended for instance.
  var processorTime: Int64? {
    guard let clock else { return nil }
    var time = timespec()
    guard unsafe clock_gettime(clock, &time) == 0 else { return nil }
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }

  /// Whether the thread neither runs nor waits for a processor: the state in `/proc/…/stat`, the
  /// letter after the closing parenthesis of the command.
  var isAsleep: Bool {
    let file = unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return true }
    defer { close(file) }
    var buffer = [UInt8](repeating: 0, count: 256)
    let length = unsafe read(file, &buffer, buffer.count)
    guard length > 0, let parenthesis = buffer[..<length].lastIndex(of: UInt8(ascii: ")")) else {
      return true
    }
    let index = parenthesis + 2
    return index >= length || buffer[index] != UInt8(ascii: "R")
  }
}
#endif

/// The thread that the process began with, and the code of the main dispatch queue.
///
/// These need not be the same: on Linux, the main queue of a program that has called
/// `dispatchMain()`, as an asynchronous `main` does, runs on other threads. Both are where
/// `@MainActor` code runs.
enum MainThread {
  /// Whether this code runs on the main thread or in the main dispatch queue.
  static var isCurrent: Bool {
    if DispatchQueue.getSpecific(key: mark) != nil { return true }
    #if canImport(Darwin)
    return pthread_main_np() != 0
    #else
    return isFirstThread
    #endif
  }

  /// Whether a dispatch queue is the main one, for which each look may give another object.
  static func isQueue(_ queue: DispatchQueue) -> Bool { queue.getSpecific(key: mark) != nil }

  /// Known to the code of the main dispatch queue.
  private static let mark: DispatchSpecificKey<Void> = {
    let mark = DispatchSpecificKey<Void>()
    DispatchQueue.main.setSpecific(key: mark, value: ())
    return mark
  }()

  #if !canImport(Darwin)
  /// 1 on the first thread, 2 on others, 0 where that isn't known yet.
  private static let answer = ThreadNumber()

  /// Whether the number of this thread is that of the process.
  private static var isFirstThread: Bool {
    if answer.value == 0 {
      let name = FileSystem.target(ofLink: "/proc/thread-self")
      answer.value = name == "\(getpid())/task/\(getpid())" ? 1 : 2
    }
    return answer.value == 1
  }
  #endif
}

/// The slot of one key.
@usableFromInline
struct ThreadSlot: @unchecked Sendable {
  // Sendable: a key is an immutable number; the slot behind it belongs to the calling thread.
  private let key: pthread_key_t

  /// - Parameter isFreed: Whether what a thread has in the slot when it ends is freed.
  init(isFreed: Bool = false) {
    var key = pthread_key_t()
    let error =
      if isFreed { unsafe pthread_key_create(&key) { unsafe free($0) } } else {
        unsafe pthread_key_create(&key, nil)
      }
    if error != 0 {
      trap("The process has used up its thread-local keys (pthread_key_create failed).")
    }
    self.key = key
  }

  @usableFromInline var pointer: UnsafeMutableRawPointer? {
    get { unsafe pthread_getspecific(key) }
    nonmutating set { unsafe pthread_setspecific(key, newValue) }
  }
}

/// The autorelease pools of Objective-C, on systems that have them.
enum AutoreleasePool {
  /// Runs a body, then releases the objects that Objective-C code has autoreleased in it.
  @inline(__always)
  static func drained(_ body: () -> Void) {
    #if canImport(ObjectiveC)
    autoreleasepool { body() }
    #else
    body()
    #endif
  }
}
