import CoreOperations
import Testing

private func fetch(_ address: String, then: @Sendable (Result<String, any Error>) -> Void) {
  then(.success("text of \(address)"))
}

/// A class as the guide shows it, which was written for Foundation.
private enum Before {
  final class Download: Operation, @unchecked Sendable {
    let address: String
    private(set) var text = ""
    private var executing = false
    private var done = false

    init(address: String) { self.address = address }

    override var isAsynchronous: Bool { true }
    override var isExecuting: Bool { executing }
    override var isFinished: Bool { done }

    override func start() {
      if isCancelled { return end() }
      willChangeValue(forKey: "isExecuting")
      executing = true
      didChangeValue(forKey: "isExecuting")
      fetch(address) { result in
        self.text = (try? result.get()) ?? ""
        self.end()
      }
    }

    private func end() {
      willChangeValue(forKey: "isExecuting")
      willChangeValue(forKey: "isFinished")
      (executing, done) = (false, true)
      didChangeValue(forKey: "isExecuting")
      didChangeValue(forKey: "isFinished")
    }
  }
}

@Test func `Coming from Foundation: its class works as it is`() async throws {
  let download = Before.Download(address: "feed")
  let queue = OperationQueue()
  let after = BlockOperation {}
  after.addDependency(download)
  queue.addOperation(download)
  queue.addOperation(after)
  try await after.untilFinished()
  #expect(download.text == "text of feed" && download.isFinished && !download.isExecuting)

  let cancelled = Before.Download(address: "feed")
  cancelled.cancel()
  queue.addOperation(cancelled)
  try await cancelled.untilFinished()
  #expect(cancelled.text.isEmpty && cancelled.isFinished)
}
