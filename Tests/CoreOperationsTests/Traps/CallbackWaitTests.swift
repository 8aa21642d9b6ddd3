import CoreOperations
import TestSupport
import Testing

/// Code that isn't the work of an operation, and for whose return the operation waits.
@Suite(.watched) struct `Waits in observers and overrides trap` {
  /// Where the wait is, and who the message says it is.
  enum Place: String, CaseIterable, Codable, Sendable {
    case isFinished, isFinishedOfSubclass, isExecuting, isExecutingOfSubclass, isReady
    case isReadyWithTheOnlySlot, dependentOfFinished, operationCount

    var message: String {
      switch self {
      case .isReadyWithTheOnlySlot, .dependentOfFinished:
        "waitUntilFinished() was called on other " + end
      case .isFinished, .isFinishedOfSubclass, .isExecuting, .isExecutingOfSubclass, .isReady,
        .operationCount:
        "waitUntilAllOperationsAreFinished() was called on queue “queue” " + end
      }
    }

    private var end: String {
      switch self {
      case .isFinished, .isFinishedOfSubclass:
        "by an observer of a property of “work”, for which queue “queue” waits: work → work. "
      case .isExecuting, .isExecutingOfSubclass:
        "by an operation that queue “queue” waits for: work → work. "
      case .isReady: "by isReady of “work”, for which queue “queue” waits: work → work. "
      case .isReadyWithTheOnlySlot:
        "by isReady of “work”, for which other waits: work → other → work. Only a higher limit "
      case .dependentOfFinished:
        "by an observer of a property of “work”, for which other waits: work → other → work. "
      case .operationCount:
        "by an observer of the queue of “work”, for which queue “queue” waits: work → work. "
      }
    }
  }

  private final class Subclass: Operation, @unchecked Sendable {
    override func main() {}
  }

  private final class Asked: Operation, @unchecked Sendable {
    private let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    override var isReady: Bool {
      // Asked by its queue, and not by who adds it.
      if super.isReady, OperationQueue.current != nil { body() }
      return true
    }
  }

  private static func run(_ place: Place) async throws {
    let queue = OperationQueue()
    queue.name = "queue"
    let other = BlockOperation {}
    other.name = "other"
    let waits: @Sendable () -> Void = { queue.waitUntilAllOperationsAreFinished() }
    var work: Operation = BlockOperation {}
    var token: ObservationToken?
    let observerWaited = Latch()
    switch place {
    case .isFinishedOfSubclass, .isExecutingOfSubclass: work = Subclass()
    case .isReady: work = Asked(waits)
    case .isReadyWithTheOnlySlot:
      queue.maxConcurrentOperationCount = 1
      work = Asked { other.waitUntilFinished() }
    case .isFinished, .isExecuting, .dependentOfFinished, .operationCount: break
    }
    switch place {
    case .isFinished, .isFinishedOfSubclass:
      token = work.observe(\.isFinished) { _, _ in
        waits()
        observerWaited.open()
      }
    case .isExecuting, .isExecutingOfSubclass:
      token = work.observe(\.isExecuting) { _, _ in
        waits()
        observerWaited.open()
      }
    case .dependentOfFinished:
      other.addDependency(work)
      token = work.observe(\.isFinished) { _, _ in
        other.waitUntilFinished()
        observerWaited.open()
      }
    case .operationCount:
      token = queue.observe(\.operationCount) { _, _ in
        waits()
        observerWaited.open()
      }
    case .isReady, .isReadyWithTheOnlySlot: break
    }
    work.name = "work"
    queue.addOperations(place == .operationCount ? [work] : [work, other])
    try await work.untilFinished()
    try await other.untilFinished()
    // The operation may be finished before its observer is called.
    if let token {
      await observerWaited.opened()
      token.invalidate()
    }
  }

  @Test(arguments: Place.allCases)
  func `a wait in an observer or override traps with its place`(place: Place) async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) { [place] in
      try await Self.run(place)
    }
    try expectMessage(place.message, in: result)
  }

  @Test func `an observer of the end may wait for the operation itself`() async throws {
    let operation = BlockOperation {}
    let isOver = Latch()
    let token = operation.observe(\.isFinished) { operation, _ in
      operation.waitUntilFinished()
      isOver.open()
    }
    OperationQueue().addOperation(operation)
    await isOver.opened()
    token.invalidate()
  }
}
