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

/// A thread that no other thread joins.
package enum DetachedThread {
  /// The minimum size of its stack.
  ///
  /// The default of the system is 8 MiB with glibc, 512 KiB on Apple's systems, and 128 KiB with
  /// musl, where bodies of operations would overflow it.
  private static let leastStackSize = 1 << 20

  /// Starts a thread.
  ///
  /// - Parameter body: The code of the thread.
  /// - Returns: 0, or the error number with which the system refuses the thread: `EAGAIN` at a limit for the
  ///   threads or the memory of the process or its container.
  package static func launch(_ body: @escaping @Sendable () -> Void) -> Int32 {
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
    let start = unsafe Unmanaged.passRetained(Start(body))
    #if canImport(Darwin)
    var thread: pthread_t?
    let begin: @convention(c) (UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? = { argument in
      unsafe Start.run(argument)
      return nil
    }
    #else
    #if canImport(Musl)
    var thread: pthread_t?
    #else
    var thread = pthread_t()
    #endif
    let begin: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { argument in
      if let argument = unsafe argument { unsafe Start.run(argument) }
      return nil
    }
    #endif
    let result = unsafe pthread_create(&thread, attributes, begin, start.toOpaque())
    if result != 0 { unsafe start.release() }
    return result
  }

  private final class Start {
    private let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) { self.body = body }

    static func run(_ argument: UnsafeMutableRawPointer) {
      unsafe Unmanaged<Start>.fromOpaque(argument).takeRetainedValue().body()
    }
  }
}

#if os(Linux) || os(Android)
/// The kernel's information about one thread: its processor time, and whether it sleeps.
struct ThreadActivity: Sendable {
  private let clock: clockid_t?
  private let path: String

  /// Creates the activity of the calling thread.
  init() {
    var clock = clockid_t()
    self.clock = unsafe pthread_getcpuclockid(pthread_self(), &clock) == 0 ? clock : nil
    path = "/proc/\(FileSystem.target(ofLink: "/proc/thread-self") ?? "")/stat"
  }

  /// The processor time of the thread in nanoseconds; nil if the system can't report it, for example because
  /// the thread has ended.
  var processorTime: Int64? {
    guard let clock else { return nil }
    var time = timespec()
    guard unsafe clock_gettime(clock, &time) == 0 else { return nil }
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }

  /// A Boolean value that indicates whether the thread neither runs nor waits for a processor.
  ///
  /// The state is in `/proc/…/stat`, in the letter after the closing parenthesis of the command.
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

/// The first thread of the process, and the code of the main dispatch queue.
///
/// The two threads need not be the same. On Linux, the main queue of a program that has called
/// `dispatchMain()`, as an asynchronous `main` does, runs on other threads. `@MainActor` code may run on
/// both.
enum MainThread {
  /// A Boolean value that indicates whether this code runs on the main thread or in the main dispatch queue.
  static var isCurrent: Bool {
    if DispatchQueue.getSpecific(key: mark) != nil { return true }
    #if canImport(Darwin)
    return pthread_main_np() != 0
    #else
    return isFirstThread
    #endif
  }

  /// Returns whether a dispatch queue is the main queue, which may be another object at each access.
  static func isQueue(_ queue: DispatchQueue) -> Bool { queue.getSpecific(key: mark) != nil }

  /// A key whose value only code of the main dispatch queue finds.
  private static let mark: DispatchSpecificKey<Void> = {
    let mark = DispatchSpecificKey<Void>()
    DispatchQueue.main.setSpecific(key: mark, value: ())
    return mark
  }()

  #if !canImport(Darwin)
  /// The answer for a thread: 1 on the first thread, 2 on others, 0 if it isn't known yet.
  private static let answer = ThreadNumber()

  /// A Boolean value that indicates whether the number of this thread is that of the process.
  private static var isFirstThread: Bool {
    if answer.value == 0 {
      let name = FileSystem.target(ofLink: "/proc/thread-self")
      answer.value = name == "\(getpid())/task/\(getpid())" ? 1 : 2
    }
    return answer.value == 1
  }
  #endif
}

/// The thread-specific slot of one key.
@usableFromInline
struct ThreadSlot: @unchecked Sendable {
  // Sendable: a key is an immutable number, and the slot behind it belongs to the calling thread.
  private let key: pthread_key_t

  /// - Parameter isFreed: A Boolean value that indicates whether the memory in the slot of a thread is freed
  ///   when the thread ends.
  init(isFreed: Bool = false) {
    var key = pthread_key_t()
    let error =
      if isFreed { unsafe pthread_key_create(&key) { unsafe free($0) } } else {
        unsafe pthread_key_create(&key, nil)
      }
    if error != 0 {
      trap(
        "The process has used up its thread-local keys (pthread_key_create failed). Create fewer keys "
          + "in the other code of the process."
      )
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
