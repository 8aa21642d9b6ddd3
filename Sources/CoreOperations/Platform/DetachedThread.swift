#if os(Linux) || os(Android)
#if canImport(Musl)
import Musl
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Android)
import Android
#endif

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
