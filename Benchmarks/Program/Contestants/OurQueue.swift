import CoreOperations

/// `CoreOperations.OperationQueue`.
struct OurQueue: Contestant {
  let name = ContestantName.ours.title

  func run(_ job: Job, clock: inout PhaseClock) {
    let queue = CoreOperations.OperationQueue()
    if let limit = job.limit { queue.maxConcurrentOperationCount = limit }
    switch job.handover {
    case .oneByOne:
      for node in 0..<job.graph.count {
        queue.addOperation(CoreOperations.BlockOperation(block: job.body.block(node)))
      }
      queue.waitUntilAllOperationsAreFinished()
    case .closures:
      for node in 0..<job.graph.count { queue.addOperation(job.body.block(node)) }
      queue.waitUntilAllOperationsAreFinished()
    case .batch:
      let operations = build(job)
      clock.markBuilt()
      queue.addOperations(operations)
      queue.waitUntilAllOperationsAreFinished()
      withExtendedLifetime(operations) { clock.markRan() }
    }
  }

  private func build(_ job: Job) -> [CoreOperations.Operation] {
    var operations: [CoreOperations.Operation] = []
    operations.reserveCapacity(job.graph.count)
    for node in 0..<job.graph.count {
      let operation = CoreOperations.BlockOperation(block: job.body.block(node))
      for predecessor in job.graph.predecessors(of: node) {
        operation.addDependency(operations[Int(predecessor)])
      }
      operations.append(operation)
    }
    return operations
  }
}
