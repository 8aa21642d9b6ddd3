import AdvancedTestSupport
import CoreOperations
import TestSupport
import Testing

/// Graphs of a million operations, on threads with a stack of 512 KiB.
@Suite(.heavy, .serialized) struct `CoreStress: size` {
  /// An operation that is counted.
  private final class Counted: Operation, @unchecked Sendable {
    let live: CoreStress.Live
    let ran: CoreStress.Tally

    init(_ live: CoreStress.Live, _ ran: CoreStress.Tally) {
      self.live = live
      self.ran = ran
      super.init()
      live.born()
    }

    deinit { live.died() }

    override func main() { ran.add() }
  }

  enum Shape: CaseIterable, Sendable {
    case chain, backwards, fanOut, fanIn, tree, wavefront

    /// Adds the edges of the shape.
    func connect(_ operations: [Operation]) {
      let indices = operations.indices.dropFirst()
      switch self {
      case .chain: for index in indices { operations[index].addDependency(operations[index - 1]) }
      case .backwards:
        for index in indices.reversed() { operations[index].addDependency(operations[index - 1]) }
      case .fanOut: for index in indices { operations[index].addDependency(operations[0]) }
      case .fanIn: for index in indices { operations[0].addDependency(operations[index]) }
      case .tree:
        for index in indices { operations[index].addDependency(operations[(index - 1) / 2]) }
      case .wavefront:
        let width = Int(Double(operations.count).squareRoot())
        for index in indices {
          if index % width > 0 { operations[index].addDependency(operations[index - 1]) }
          if index >= width { operations[index].addDependency(operations[index - width]) }
        }
      }
    }

    var count: Int {
      switch self {
      case .chain: 1_000_000
      case .fanOut, .fanIn: 200_000
      case .backwards, .tree, .wavefront: 100_000
      }
    }
  }

  @Test(arguments: Shape.allCases)
  func `large graphs are built, run and released`(shape: Shape) async {
    let watchdog = CoreStress.Watchdog(seconds: 180) { "\(shape)" }
    let count = CoreStress.scaled(shape.count)
    let (ran, live) = (CoreStress.Tally(), CoreStress.Live())
    await CoreStress.onThread(stackSize: CoreStress.smallStack) {
      let queue = OperationQueue(executor: CoreStress.SmallStacks.shared)
      var operations: [Operation] = (0..<count).map { _ in Counted(live, ran) }
      shape.connect(operations)
      queue.addOperations(operations)
      queue.waitUntilAllOperationsAreFinished()
      operations = []
    }
    await live.ended()
    #expect(ran.now == count)
    watchdog.end()
  }

  @Test(arguments: Shape.allCases)
  func `large graphs can be built and released without running`(shape: Shape) async {
    let watchdog = CoreStress.Watchdog(seconds: 180) { "\(shape)" }
    let count = CoreStress.scaled(shape.count)
    let (ran, live) = (CoreStress.Tally(), CoreStress.Live())
    let left = await CoreStress.onThread(stackSize: CoreStress.smallStack) {
      var operations: [Operation] = (0..<count).map { _ in Counted(live, ran) }
      shape.connect(operations)
      operations = []
      return live.now
    }
    #expect(left == 0)
    #expect(ran.now == 0)
    watchdog.end()
  }

  @Test(arguments: Shape.allCases)
  func `large graphs can be cancelled as a whole`(shape: Shape) async throws {
    let watchdog = CoreStress.Watchdog(seconds: 180) { "\(shape)" }
    let count = CoreStress.scaled(50_000)
    let (ran, live) = (CoreStress.Tally(), CoreStress.Live())
    await CoreStress.onThread(stackSize: CoreStress.smallStack) {
      let queue = OperationQueue(executor: CoreStress.SmallStacks.shared)
      queue.isSuspended = true
      var operations: [Operation] = (0..<count).map { _ in Counted(live, ran) }
      shape.connect(operations)
      for operation in operations { queue.addOperation(operation) }
      queue.cancelAllOperations()
      queue.isSuspended = false
      queue.waitUntilAllOperationsAreFinished()
      operations = []
    }
    await live.ended()
    #expect(ran.now == 0)
    watchdog.end()
  }

  @Test func `a hundred thousand barriers run in order`() async throws {
    let watchdog = CoreStress.Watchdog(seconds: 120) { "barriers" }
    let count = CoreStress.scaled(100_000)
    let order = CoreStress.Tally()
    let wrong = CoreStress.Tally()
    let queue = OperationQueue()
    queue.isSuspended = true
    for number in 0..<count {
      queue.addBarrierBlock {
        if order.now != number { wrong.add() }
        order.add()
      }
    }
    queue.isSuspended = false
    try await queue.untilAllOperationsAreFinished()
    #expect(order.now == count)
    #expect(wrong.now == 0)
    watchdog.end()
  }

  @Test func `a hundred thousand changes of priority keep the order`() async throws {
    let watchdog = CoreStress.Watchdog(seconds: 120) { "priorities" }
    let (ran, live) = (CoreStress.Tally(), CoreStress.Live())
    let count = CoreStress.scaled(100_000)
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    queue.isSuspended = true
    var operations: [Operation] = (0..<count).map { _ in Counted(live, ran) }
    queue.addOperations(operations)
    for (index, operation) in operations.enumerated() {
      operation.queuePriority = Operation.QueuePriority.allCases[index % 5]
    }
    queue.isSuspended = false
    try await queue.untilAllOperationsAreFinished()
    #expect(ran.now == count)
    operations = []
    await live.ended()
    watchdog.end()
  }

  @Test func `operations that many threads add all run`() async throws {
    let watchdog = CoreStress.Watchdog(seconds: 120) { "adding" }
    let count = CoreStress.scaled(100_000)
    let ran = CoreStress.Tally()
    let queue = OperationQueue()
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<4 {
        group.addTask {
          await CoreStress.onThread {
            for _ in 0..<count / 4 { queue.addOperation(BlockOperation { ran.add() }) }
          }
        }
      }
    }
    try await queue.untilAllOperationsAreFinished()
    #expect(ran.now == count / 4 * 4)
    watchdog.end()
  }
}
