/// The executor of queues that were given none.
package enum DefaultExecutor {
  #if os(Linux)
  package static let shared: any OperationExecutor = ElasticThreadPool.shared
  #else
  package static let shared: any OperationExecutor = DispatchExecutor(.global())
  #endif
}
