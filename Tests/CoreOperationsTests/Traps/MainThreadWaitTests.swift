import CoreOperations
import Dispatch
import TestSupport
import Testing

/// The main thread can't run what it waits for.
@Suite(.watched) struct `Waits of the main thread for itself trap` {
  enum Target: String, CaseIterable, Codable, Sendable {
    case operation, batch, queue, closure, barrier, dependency, otherQueue, underlyingQueue

    var message: String {
      switch self {
      case .operation, .batch, .underlyingQueue:
        "waitUntilFinished() was called on work on the main thread, which work waits for: "
          + "work → the main thread. The wait would never end. Await the end instead, or wait on "
          + "another thread."
      case .queue, .closure, .barrier:
        "waitUntilAllOperationsAreFinished() was called on queue “main” on the main thread, which "
          + "queue “main” waits for: queue “main” → the main thread. "
      case .dependency:
        "waitUntilFinished() was called on last on the main thread, which last waits for: "
          + "last → work → the main thread. "
      case .otherQueue:
        "waitUntilAllOperationsAreFinished() was called on queue “other” on the main thread, which "
          + "queue “other” waits for: last → work → the main thread. "
      }
    }
  }

  private static func named(_ name: String) -> Operation {
    let operation = BlockOperation {}
    operation.name = name
    return operation
  }

  private static func isHeldUp(_ operation: Operation) -> Bool {
    operation.waitCauses.contains { if case .mainThread = $0 { true } else { false } }
  }

  @MainActor private static func wait(for target: Target) {
    let (main, other) = (OperationQueue.main, OperationQueue())
    other.name = "other"
    let (work, last) = (named("work"), named("last"))
    last.addDependency(work)
    switch target {
    case .operation:
      main.addOperation(work)
      work.waitUntilFinished()
    case .batch: main.addOperations([work], waitUntilFinished: true)
    case .queue:
      main.addOperation(work)
      main.waitUntilAllOperationsAreFinished()
    case .closure:
      main.addOperation {}
      main.waitUntilAllOperationsAreFinished()
    case .barrier:
      main.addBarrierBlock {}
      main.waitUntilAllOperationsAreFinished()
    case .dependency:
      main.addOperation(work)
      other.addOperation(last)
      last.waitUntilFinished()
    case .otherQueue:
      main.addOperation(work)
      other.addOperation(last)
      other.waitUntilAllOperationsAreFinished()
    case .underlyingQueue:
      other.underlyingQueue = .main
      other.addOperation(work)
      work.waitUntilFinished()
    }
  }

  @Test(arguments: Target.allCases)
  func `a wait of the main thread for code that needs it traps`(target: Target) async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) { [target] in
      await Self.wait(for: target)
    }
    try expectMessage(target.message, in: result)
  }

  @Test func `code of an operation that the main thread waits for traps`() async throws {
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) {
      await MainActor.run {
        let queue = OperationQueue()
        queue.name = "queue"
        let probe = Self.named("probe")
        OperationQueue.main.addOperation(probe)
        let code = BlockOperation {
          while !Self.isHeldUp(probe) {}
          let work = Self.named("work")
          OperationQueue.main.addOperation(work)
          work.waitUntilFinished()
        }
        code.name = "code"
        queue.addOperation(code)
        queue.waitUntilAllOperationsAreFinished()
      }
    }
    // The last of the two waits completes the cycle. The code may begin its wait while the main thread searches.
    let sentences = [
      "waitUntilFinished() was called on work by an operation that work waits for: "
        + "code → work → the main thread → code. ",
      "waitUntilAllOperationsAreFinished() was called on queue “queue” on the main thread, which "
        + "queue “queue” waits for: code → work → the main thread. ",
    ]
    let text = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
    #expect(sentences.contains { text.contains("Fatal error: \($0)") }, "\(text)")
  }

  @Test func `a wait of the main thread is safe if nothing needs that thread`() async {
    await MainActor.run {
      let queue = OperationQueue()
      let first = Self.named("first")
      OperationQueue.main.addOperation(Self.named("later"))
      queue.addOperation(first)
      first.waitUntilFinished()
      queue.addOperation {}
      queue.waitUntilAllOperationsAreFinished()
    }
  }
}
