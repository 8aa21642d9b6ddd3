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

  static func launch(_ body: @escaping @Sendable () -> Void) {
    final class Start {
      let body: @Sendable () -> Void
      init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }
    let attributes = UnsafeMutablePointer<pthread_attr_t>.allocate(capacity: 1)
    unsafe pthread_attr_init(attributes)
    defer {
      unsafe pthread_attr_destroy(attributes)
      unsafe attributes.deallocate()
    }
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
    let start = unsafe Unmanaged.passRetained(Start(body)).toOpaque()
    let result = unsafe pthread_create(
      &thread,
      attributes,
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
  }
}
#endif
