import AdvancedOperations
import Foundation
import Testing

import class CoreOperations.Operation
import class CoreOperations.OperationQueue

private final class Upload: Operation, @unchecked Sendable {
  let date = Date()
}

@Test func `beside Foundation: a scoped import wins over a module`() async throws {
  let queue = OperationQueue()
  let upload = Upload()
  queue.addOperation(upload)
  try await upload.untilFinished()
  let ours: (CoreOperations.Operation, CoreOperations.OperationQueue) = (upload, queue)
  #expect(ours.0.isFinished && ours.1.operationCount == 0)
}
