#if os(Linux)
import Glibc

/// A thread that nobody joins, with the system's default stack.
enum DetachedThread {
  static func launch(_ body: @escaping @Sendable () -> Void) {
    final class Start {
      let body: @Sendable () -> Void
      init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }
    let start = unsafe Unmanaged.passRetained(Start(body)).toOpaque()
    var thread = pthread_t()
    let result = unsafe pthread_create(
      &thread,
      nil,
      { argument in
        guard let argument = unsafe argument else { return nil }
        let start = unsafe Unmanaged<Start>.fromOpaque(argument).takeRetainedValue()
        start.body()
        return nil
      },
      start
    )
    guard result == 0 else {
      trap("The system refused to start a thread (pthread_create returned \(result)).")
    }
    pthread_detach(thread)
  }
}
#endif
