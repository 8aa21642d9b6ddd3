#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Android)
import Android
#endif

/// Threads of their own for what may block: those of Dispatch and those that tasks run on are few,
/// and shared by all tests.
package enum Threads {
  /// Runs a body that may block on a thread of its own.
  ///
  /// - Parameters:
  ///   - stackSize: In bytes; nil for what the system gives.
  ///   - body: May block.
  /// - Returns: What the body returned.
  package static func run<Result: Sendable>(
    stackSize: Int? = nil,
    _ body: @escaping @Sendable () -> Result
  ) async -> Result {
    await withCheckedContinuation { continuation in
      launch(stackSize: stackSize) { continuation.resume(returning: body()) }
    }
  }

  /// Starts a thread that nobody joins.
  package static func launch(stackSize: Int? = nil, _ body: @escaping @Sendable () -> Void) {
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
    if let stackSize { unsafe pthread_attr_setstacksize(attributes, stackSize) }
    unsafe pthread_attr_setdetachstate(attributes, Int32(PTHREAD_CREATE_DETACHED))
    let start = unsafe Unmanaged.passRetained(Start(body)).toOpaque()
    #if canImport(Darwin)
    var thread: pthread_t?
    let result = unsafe pthread_create(
      &thread,
      attributes,
      { argument in
        unsafe Unmanaged<Start>.fromOpaque(argument).takeRetainedValue().body()
        return nil
      },
      start
    )
    #else
    #if canImport(Musl)
    var thread: pthread_t?
    #else
    var thread = pthread_t()
    #endif
    let result = unsafe pthread_create(
      &thread,
      attributes,
      { argument in
        if let argument = unsafe argument {
          unsafe Unmanaged<Start>.fromOpaque(argument).takeRetainedValue().body()
        }
        return nil
      },
      start
    )
    #endif
    guard result == 0 else { fatalError("pthread_create returned \(result)") }
  }
}
