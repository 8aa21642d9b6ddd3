import CoreOperations
import Testing

private class Uploads: OperationQueue, @unchecked Sendable {}

private final class Named: OperationQueue, @unchecked Sendable {
  override var name: String? {
    get { nil }
    set {}
  }
}

@Suite struct `Identity and texts of queues` {
  @Test func `queues are equal by identity`() {
    let (first, second, uploads) = (OperationQueue(), OperationQueue(), Uploads())
    #expect(first == first)
    #expect(first != second)
    #expect(Set([first, second, uploads, first]).count == 3)
    #expect([first: "first", uploads: "uploads"][uploads] == "uploads")
  }

  @Test func `a new queue has a unique name that nil restores`() throws {
    let (first, second, uploads) = (OperationQueue(), OperationQueue(), Uploads())
    let own = try #require(first.name)
    #expect(own == first.name)
    #expect(own.hasPrefix("OperationQueue 0x"))
    #expect(uploads.name?.hasPrefix("Uploads 0x") == true)
    #expect(Set([first, second, uploads].map(\.name)).count == 3)
    first.name = "imports"
    #expect(first.name == "imports")
    first.name = nil
    #expect(first.name == own)
    first.name = ""
    #expect(first.name == "")
  }

  @Test func `descriptions name the type of a queue without a name`() {
    let queue = OperationQueue()
    queue.isSuspended = true
    let operation = BlockOperation {}
    queue.addOperation(operation)
    func causes() -> [String] { operation.waitCauses.map(\.description) }
    #expect(causes() == ["waits for queue “OperationQueue” to be resumed"])
    queue.name = "imports"
    #expect(causes() == ["waits for queue “imports” to be resumed"])
    operation.cancel()
    queue.isSuspended = false
  }

  @Test func `a queue's description has its name and operation count`() async throws {
    let queue = OperationQueue()
    let own = try #require(queue.name)
    #expect("\(queue)" == "\(own) (0 operations)")
    #expect(queue.debugDescription == "\(own) (0 operations)")
    queue.name = "imports"
    queue.isSuspended = true
    for number in 1...10 {
      let operation = BlockOperation {}
      operation.name = "\(number)"
      queue.addOperation(operation)
      if number == 1 { #expect(queue.description == "imports (1 operation, suspended)") }
    }
    #expect(
      String(reflecting: queue)
        == "imports (10 operations, suspended): 1 (ready), 2 (ready), 3 (ready), 4 (ready), "
        + "5 (ready), 6 (ready), 7 (ready), 8 (ready) and 2 more"
    )
    queue.cancelAllOperations()
    queue.isSuspended = false
    try await queue.untilAllOperationsAreFinished()
    #expect("\(queue)" == "imports (0 operations)")
  }

  @Test func `a subclass of the queue may have no name`() {
    #expect(Named().description == "Named (0 operations)")
  }
}
