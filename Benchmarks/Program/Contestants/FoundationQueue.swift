import Foundation

/// `Foundation.OperationQueue`.
struct FoundationQueue: Contestant {
  /// A finished chain is released recursively and overflows the stack at about 100,000.
  private static let longestChain = 50_000

  let name = ContestantName.foundation.title

  func objection(to job: Job) -> String? {
    job.graph.edgeCount > 0 && job.graph.count > Self.longestChain
      ? "it releases finished graphs recursively and would overflow the stack" : nil
  }

  func assumedExponent(for job: Job) -> Double { job.graph.edgeCount > 0 ? 2 : 1 }

  func run(_ job: Job, clock: inout PhaseClock) {
    let queue = Foundation.OperationQueue()
    if let limit = job.limit { queue.maxConcurrentOperationCount = limit }
    switch job.handover {
    case .oneByOne:
      for node in 0..<job.graph.count {
        queue.addOperation(Foundation.BlockOperation(block: job.body.block(node)))
      }
      queue.waitUntilAllOperationsAreFinished()
    case .closures:
      for node in 0..<job.graph.count { queue.addOperation(job.body.block(node)) }
      queue.waitUntilAllOperationsAreFinished()
    case .batch:
      let operations = build(job)
      clock.markBuilt()
      queue.addOperations(operations, waitUntilFinished: false)
      queue.waitUntilAllOperationsAreFinished()
      withExtendedLifetime(operations) { clock.markRan() }
    }
  }

  private func build(_ job: Job) -> [Foundation.Operation] {
    var operations: [Foundation.Operation] = []
    operations.reserveCapacity(job.graph.count)
    for node in 0..<job.graph.count {
      let operation = Foundation.BlockOperation(block: job.body.block(node))
      for predecessor in job.graph.predecessors(of: node) {
        operation.addDependency(operations[Int(predecessor)])
      }
      operations.append(operation)
    }
    return operations
  }
}
