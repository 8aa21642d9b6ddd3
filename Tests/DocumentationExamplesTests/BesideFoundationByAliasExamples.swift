import AdvancedOperations
import CoreOperations
import Foundation
import Testing

/// Stands for the module that says which classes it means, and for all of its files.
private enum Client {
  typealias Operation = CoreOperations.Operation
  typealias OperationQueue = CoreOperations.OperationQueue
  typealias BlockOperation = CoreOperations.BlockOperation
  typealias QualityOfService = CoreOperations.QualityOfService

  final class Upload: Operation, @unchecked Sendable {
    let date = Date()
  }

  static func makeQueue() -> OperationQueue {
    let queue = OperationQueue()
    queue.qualityOfService = QualityOfService.utility
    queue.addOperation(BlockOperation {})
    return queue
  }
}

@Test func `beside Foundation: an alias in the module wins over imports`() async throws {
  let upload = Client.Upload()
  Client.makeQueue().addOperation(upload)
  try await upload.untilFinished()
  let ours: CoreOperations.Operation = upload
  #expect(ours.isFinished)
}

#if compiler(>=6.3)
@Test func `beside Foundation: a class can be named with its module`() {
  let operation: CoreOperations::Operation = CoreOperations::BlockOperation {}
  operation.start()
  #expect(operation.isFinished)
}
#endif
