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
