extension Wait {
  /// The wait as the core's users see it; nil for one of the layer, of which the core says only
  /// that the operation isn't ready, or in no queue.
  package var cause: OperationWaitCause? {
    switch kind {
    case .dependencies: .dependencies(operations)
    case .code: .ownWait(operations)
    case .enqueueing: .notEnqueued
    case .resumption(let queue): .suspended(queue)
    case .barrier(let queue): .barrier(queue, behind: operations)
    case .slot(let queue, let limit): .limit(queue, limit, holders: operations)
    case .readiness: .notReady
    case .worker(let queue): .worker(queue)
    case .mainThread(let label): .mainThread(waitsFor: label)
    case .helpers, .parent, .claim, .children: nil
    }
  }
}
