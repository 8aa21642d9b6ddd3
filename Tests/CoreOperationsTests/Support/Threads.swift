import CoreOperations
import Dispatch

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// Runs a body that may block on a thread of its own, so that it keeps none of the threads that
/// tasks run on.
///
/// - Parameters:
///   - stackSize: In bytes; nil for what the system gives.
///   - body: May block.
/// - Returns: What the body returned.
func onThread<Result: Sendable>(
  stackSize: Int? = nil,
  _ body: @escaping @Sendable () -> Result
) async -> Result {
  await withCheckedContinuation { continuation in
    launchThread(stackSize: stackSize) { continuation.resume(returning: body()) }
  }
}

/// Returns once something is so that nothing reports, looked at from a thread of its own.
func eventually(_ isSo: @escaping @Sendable () -> Bool) async {
  await onThread { while !isSo() { sched_yield() } }
}

/// Starts a thread that nobody joins.
func launchThread(stackSize: Int? = nil, _ body: @escaping @Sendable () -> Void) {
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
  var thread = pthread_t()
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

/// Runs a short body, which waits for nobody, on one of four threads that cost nothing to start.
///
/// Not Dispatch: its threads are those that tasks run on.
func launchThreadFromPool(_ body: @escaping @Sendable () -> Void) { Helpers.shared.run(body) }

private final class Helpers: Sendable {
  static let shared = Helpers()
  private let line = Locked<[@Sendable () -> Void]>([])
  private let waiting = DispatchSemaphore(value: 0)

  private init() {
    for _ in 0..<4 {
      launchThread {
        while true {
          self.waiting.wait()
          self.line.withLock { $0.removeFirst() }()
        }
      }
    }
  }

  func run(_ body: @escaping @Sendable () -> Void) {
    line.withLock { $0.append(body) }
    waiting.signal()
  }
}

/// Identifies the calling thread.
func threadID() -> UInt {
  #if canImport(Darwin)
  unsafe UInt(bitPattern: pthread_self())
  #else
  UInt(pthread_self())
  #endif
}
