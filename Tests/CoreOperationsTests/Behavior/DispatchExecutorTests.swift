import Dispatch
import TestSupport
import Testing

@testable import CoreOperations

@Suite(.watched) struct `Workers on a dispatch queue` {
  /// Each operation takes the whole turn of a worker, and submits other work to the dispatch queue.
  @Test
  func `workers on a dispatch queue yield to other work after two milliseconds`() async throws {
    let shared = DispatchQueue(label: "shared")
    let queue = OperationQueue()
    queue.underlyingQueue = shared
    queue.maxConcurrentOperationCount = 1
    let order = Log<String>()
    for number in 1...4 {
      queue.addOperation {
        order.add("operation \(number)")
        shared.async { order.add("other work \(number)") }
        let end = DispatchTime.now().uptimeNanoseconds + UInt64(DispatchExecutor.longestTurn)
        while DispatchTime.now().uptimeNanoseconds <= end {}
      }
    }
    try await queue.untilAllOperationsAreFinished()
    await withCheckedContinuation { done in shared.async { done.resume() } }
    #expect(
      order.entries == (1...4).flatMap { ["operation \($0)", "other work \($0)"] }
    )
  }

  @Test(arguments: [
    (QualityOfService.userInteractive, DispatchQoS.QoSClass.userInteractive),
    (.userInitiated, .userInitiated),
    (.utility, .utility),
    (.background, .background),
    (.default, .default),
  ])
  func `workers run on the global queue for their queue's quality of service`(
    quality: QualityOfService,
    expected: DispatchQoS.QoSClass
  ) {
    let executor = DispatchExecutor()
    let queue = OperationQueue(executor: executor)
    #expect(executor.queue.label == DispatchQueue.global(qos: .default).label)
    queue.qualityOfService = quality
    #expect(executor.queue.label == DispatchQueue.global(qos: expected).label)
  }

  @Test func `workers stay on a given dispatch queue for any quality of service`() {
    let given = DispatchQueue(label: "given")
    let queue = OperationQueue()
    queue.underlyingQueue = given
    queue.qualityOfService = .background
    #expect((queue.scheduler.executor as? DispatchExecutor)?.queue === given)
    OperationQueue.main.qualityOfService = .background
    let ofMain = OperationQueue.main.scheduler.executor as? DispatchExecutor
    #expect(ofMain?.queue.label == DispatchQueue.main.label)
    OperationQueue.main.qualityOfService = .default
  }

  /// A class that is set on one queue doesn't change others.
  @Test func `two queues have separate executors if Dispatch runs both`() {
    let (first, second) = (DefaultExecutor.forQueue(), DefaultExecutor.forQueue())
    guard let first = first as? DispatchExecutor, let second = second as? DispatchExecutor else {
      #expect(BodyExecutor.preferred != nil, "Without Dispatch, the pool runs them.")
      return
    }
    #expect(first !== second)
  }
}
