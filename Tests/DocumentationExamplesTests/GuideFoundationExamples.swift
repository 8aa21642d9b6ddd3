import AdvancedOperations
import Foundation
import Synchronization
import Testing

/// What stands for a class of somebody else's, in Foundation's terms.
private final class Resize: Foundation.Operation, @unchecked Sendable {
  // Sendable: `width` has a lock.
  private let lockedWidth = Mutex(0)
  var width: Int { lockedWidth.withLock { $0 } }

  override func main() { lockedWidth.withLock { $0 = 640 } }
}

let ends = Foundation.OperationQueue()

func perform(
  _ operation: Foundation.Operation,
  in queue: Foundation.OperationQueue
) async throws {
  let end = Foundation.BlockOperation {}
  end.addDependency(operation)
  try await withTaskCancellationHandler {
    await withCheckedContinuation { continuation in
      end.addExecutionBlock { continuation.resume() }
      // In a queue that nobody cancels.
      ends.addOperation(end)
      queue.addOperation(operation)
    }
    if operation.isCancelled { throw CancellationError() }
  } onCancel: {
    operation.cancel()
  }
}

@Test func `Coming from Foundation: its operations from ours`() async throws {
  let print = Lines()

  let theirs = Foundation.OperationQueue()
  let ours = AdvancedOperationQueue()

  let resize = ResultOperation(name: "resize") {
    let operation = Resize()
    try await perform(operation, in: theirs)
    return operation.width
  }
  let store = resize.then(name: "store") { width in "stored, \(width) wide" }
  print(try await ours.run(store))

  try expectShown(print, in: "ComingFromFoundation")
}

@Test func `Coming from Foundation: a queue of theirs that is cancelled as a whole`() async throws {
  let theirs = Foundation.OperationQueue()
  let operation = Foundation.BlockOperation { theirs.cancelAllOperations() }
  await #expect(throws: CancellationError.self) { try await perform(operation, in: theirs) }
}

@Test func `Coming from Foundation: one that was cancelled`() async throws {
  let theirs = Foundation.OperationQueue()
  let operation = Foundation.BlockOperation {}
  operation.cancel()
  await #expect(throws: CancellationError.self) { try await perform(operation, in: theirs) }

  let waiting = Foundation.BlockOperation {}
  theirs.isSuspended = true
  let resize = ResultOperation(name: "resize") {
    AdvancedOperation.current?.cancel()
    try await perform(waiting, in: theirs)
  }
  AdvancedOperationQueue().addOperation(resize)
  theirs.isSuspended = false
  try await resize.untilFinished()
  #expect(resize.outcome?.isCancelled == true)
  #expect(waiting.isCancelled)
}

private func fetch(_ address: String, then: @Sendable (Result<String, any Error>) -> Void) {
  then(address.isEmpty ? .failure(Offline()) : .success("text of \(address)"))
}

private func fetch(_ address: String) async throws -> String { "text of \(address)" }

private enum After {
  final class Download: AdvancedOperation, @unchecked Sendable {
    // Sendable: the address doesn't change, and the text has a lock.
    let address: String
    private let lockedText = Mutex("")
    var text: String { lockedText.withLock { $0 } }

    init(address: String) {
      self.address = address
      super.init(name: "download")
    }

    override func execute() {
      fetch(address) { [self] result in
        switch result {
        case .success(let text):
          lockedText.withLock { $0 = text }
          finish()
        case .failure(let error): finish(withError: error)
        }
      }
    }
  }
}

@Test func `Coming from Foundation: a class afterwards, and a closure in its place`() async throws {
  let address = "feed"
  let queue = AdvancedOperationQueue()
  let (good, bad) = (After.Download(address: address), After.Download(address: ""))
  queue.addOperations([good, bad])
  try await good.untilFinished()
  try await bad.untilFinished()
  #expect(good.text == "text of feed")
  #expect(bad.outcome?.isFailed == true && good.explain().description.hasPrefix("download has"))

  let download = ResultOperation(name: "download") { try await fetch(address) }
  #expect(try await queue.run(download) == good.text)
}

/// Stands for a file that has said which classes it means.
private final class Upload: AdvancedOperation, @unchecked Sendable {
  override func execute() { finish() }
}

@Test func `Coming from Foundation: ours from its operations`() async throws {
  let theirs = Foundation.OperationQueue()
  let ours = AdvancedOperationQueue()

  let upload = Upload(name: "upload")
  let bridge = Foundation.BlockOperation {
    ours.addOperation(upload)
    upload.waitUntilFinished()
  }
  let report = Foundation.BlockOperation {}
  report.addDependency(bridge)
  theirs.addOperation(bridge)
  theirs.addOperation(report)

  await withCheckedContinuation { continuation in
    theirs.addBarrierBlock { continuation.resume() }
  }
  #expect(upload.isFinished && report.isFinished)
}

@Test func `Coming from Foundation: a completion block knows no outcome, onFinish does`()
  async throws
{
  let seen = Mutex("")
  let upload = Upload(name: "upload")
  upload.onFinish { operation, outcome in
    seen.withLock { $0 = "\(operation.name ?? ""): \(outcome)" }
  }
  AdvancedOperationQueue().addOperation(upload)
  try await upload.untilFinished()
  #expect(seen.withLock { $0 } == "upload: succeeded")
}
