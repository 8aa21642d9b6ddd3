import CoreOperations
import Dispatch
import Testing

@Test func `CoreOperations: a queue runs what has dependencies, some at a time`() async throws {
  let steps = Lines()
  @Sendable func fetch() { steps("fetch") }
  @Sendable func read() { steps("read") }

  let download = BlockOperation { fetch() }
  let parse = BlockOperation { read() }
  parse.addDependency(download)

  let queue = OperationQueue()
  queue.maxConcurrentOperationCount = 4
  queue.addOperations([download, parse])
  try await queue.untilAllOperationsAreFinished()

  #expect(steps.all == ["fetch", "read"])
}

@Test func `OperationQueue: a batch is added and awaited`() async throws {
  let operations = (1...3).map { _ in BlockOperation {} }
  let (download, parse, store) = (operations[0], operations[1], operations[2])

  let queue = OperationQueue()
  queue.maxConcurrentOperationCount = 4
  queue.addOperations([download, parse, store])
  try await queue.untilAllOperationsAreFinished()

  #expect(operations.allSatisfy { $0.isFinished })
}

@Test func `Operation: one operation depends on several`() async throws {
  let steps = Lines()
  let downloads = (1...3).map { _ in BlockOperation { steps("download") } }
  @Sendable func mergeAll() { steps("merge") }

  let merge = BlockOperation { mergeAll() }
  merge.addDependencies(downloads)

  OperationQueue().addOperations([merge] + downloads)
  try await merge.untilFinished()

  #expect(steps.all == ["download", "download", "download", "merge"])
}

private final class Tile: Sendable {
  private let isSmall = Locked(false)
  var isShrunk: Bool { isSmall.withLock { $0 } }
  func shrink() { isSmall.withLock { $0 = true } }
}

private let tiles = [Tile(), Tile(), Tile()]

@Test func `Operation: a subclass does its work in main`() async throws {
  let queue = OperationQueue()
  let download = BlockOperation {}

  final class Resize: Operation, @unchecked Sendable {
    override func main() {
      for tile in tiles where !isCancelled { tile.shrink() }
    }
  }
  let resize = Resize()
  resize.addDependency(download)
  queue.addOperations([download, resize])

  try await resize.untilFinished()
  #expect(tiles.allSatisfy { $0.isShrunk })
}

@Test func `BlockOperation: several blocks are one operation`() async throws {
  let queue = OperationQueue()
  let (left, right) = ("left", "right")
  let made = Lines()
  @Sendable func makeThumbnail(of side: String) { made(side) }

  let thumbnails = BlockOperation { makeThumbnail(of: left) }
  thumbnails.addExecutionBlock { makeThumbnail(of: right) }
  queue.addOperation(thumbnails)

  try await thumbnails.untilFinished()
  #expect(made.all.sorted() == ["left", "right"])
}

@Test func `QualityOfService: a queue says how much its work matters`() {
  let backups = OperationQueue()
  backups.qualityOfService = .background

  #expect(backups.qualityOfService == .background)
}

@Test func `QueuePriority: what is urgent overtakes what is ready`() async throws {
  let sounds = Lines()
  @Sendable func ring() { sounds("ring") }
  let queue = OperationQueue()
  queue.maxConcurrentOperationCount = 1
  queue.isSuspended = true
  for _ in 1...3 { queue.addOperation { sounds("hum") } }

  let alert = BlockOperation { ring() }
  alert.queuePriority = .veryHigh
  queue.addOperation(alert)

  queue.isSuspended = false
  try await queue.untilAllOperationsAreFinished()
  #expect(sounds.all == ["ring", "hum", "hum", "hum"])
}

@Test func `QueuePriority: odd raw values move towards normal`() {
  let priority = Operation.QueuePriority(clamping: 7)  // .high

  #expect(priority == .high)
}

@Test func `OperationProgress: a queue says how much of it is done`() async throws {
  let print = Lines()
  let queue = OperationQueue()
  let permission = BlockOperation {}
  let operations = (1...4).map { _ in BlockOperation {} }
  operations[3].addDependency(permission)
  queue.addOperations(operations)
  for operation in operations[..<3] { try await operation.untilFinished() }

  let progress = queue.progress
  print("\(Int(progress.fractionCompleted * 100)) %")

  #expect(print.all == ["75 %"])
  queue.addOperation(permission)
  try await queue.untilAllOperationsAreFinished()
}

@Test func `OperationExecutor: a queue may run where you like`() async throws {
  struct OneThread: OperationExecutor {
    let queue = DispatchQueue(label: "import")
    func enqueue(_ worker: @escaping @Sendable () -> Void) { queue.async(execute: worker) }
  }
  let queue = OperationQueue(executor: OneThread())

  let numbers = Lines()
  for number in 1...9 { queue.addOperation { numbers(number) } }
  try await queue.untilAllOperationsAreFinished()
  #expect(numbers.all == (1...9).map { "\($0)" })
}

@Test func `OperationWaitCause: an operation says why it isn't running`() {
  let print = Lines()
  let compress = BlockOperation {}
  compress.name = "compress"
  let upload = BlockOperation {}
  upload.name = "upload"
  upload.addDependency(compress)

  for cause in upload.waitCauses {
    print("\(upload) \(cause)")
  }
  // upload (waiting) waits for compress
  // upload (waiting) isn't in a queue

  #expect(
    print.all == ["upload (waiting) waits for compress", "upload (waiting) isn't in a queue"]
  )
}

@Test func `OperationCycleError: a wait that would never end is refused`() async throws {
  let queue = OperationQueue()
  let second = BlockOperation {}
  let caught = Lines()

  // One slot, which the first one holds while it waits for the second.
  queue.maxConcurrentOperationCount = 1
  queue.addOperation {
    queue.addOperation(second)
    do { try await second.untilFinished() } catch { caught("\(error)") }
  }
  // These operations wait for each other in a cycle, so none of them can run:
  // AsyncBlockOperation → BlockOperation → AsyncBlockOperation. Remove one of these waits, or
  // await inside of releasingSlot { } in the body of AsyncBlockOperation.

  try await queue.untilAllOperationsAreFinished()
  #expect(
    caught.all == [
      "These operations wait for each other in a cycle, so none of them can run: "
        + "AsyncBlockOperation → BlockOperation → AsyncBlockOperation. Remove one of these waits, or "
        + "await inside of releasingSlot { } in the body of AsyncBlockOperation."
    ]
  )
  #expect(second.isFinished && !second.isCancelled)
}

@Test func `releasingSlot: a body awaits an operation that needs its slot`() async throws {
  let print = Lines()

  let queue = OperationQueue()
  queue.maxConcurrentOperationCount = 1
  queue.addOperation {
    let second = BlockOperation { print("second") }
    queue.addOperation(second)
    try? await releasingSlot { try await second.untilFinished() }
    print("the first continues")
  }
  // second
  // the first continues

  try await queue.untilAllOperationsAreFinished()
  #expect(print.all == ["second", "the first continues"])
}

@Test func `Queue: a suspension with a reason`() {
  let queue = OperationQueue()

  queue.suspend(reason: "the disk is nearly full")

  #expect(queue.suspensionReason == "the disk is nearly full")
}
