/// The executor of queues that were created without one.
package enum DefaultExecutor {
  #if os(Linux) || os(Android)
  package static let shared: any OperationExecutor = ElasticThreadPool.shared
  #else
  package static let shared: any OperationExecutor = DispatchExecutor()
  #endif

  /// Returns the executor of a new queue: its own where Dispatch has a thread pool for each quality
  /// of service.
  package static func forQueue() -> any OperationExecutor {
    #if os(Linux) || os(Android)
    shared
    #else
    DispatchExecutor()
    #endif
  }
}
