#if os(Linux)
#if canImport(Musl)
import Musl
#elseif canImport(Glibc)
import Glibc
#endif

/// A detached thread with the system's default stack.
enum DetachedThread {
  static func launch(_ body: @escaping @Sendable () -> Void) {
    final class Start {
      let body: @Sendable () -> Void
      init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }
    let start = unsafe Unmanaged.passRetained(Start(body)).toOpaque()
    #if canImport(Musl)
    var thread: pthread_t?
    #else
    var thread = pthread_t()
    #endif
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
    #if canImport(Musl)
    if let thread = unsafe thread { unsafe pthread_detach(thread) }
    #else
    pthread_detach(thread)
    #endif
  }
}
#endif
