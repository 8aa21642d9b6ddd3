import CoreOperations
import TestSupport
import Testing

/// Sentences of the documents that no listing shows and no test of the core is about.
@Suite(.watched) struct `The documents promise that` {
  @Test func `an operation without a body does nothing and finishes`() async throws {
    let byHand = Operation()
    #expect(byHand.isReady && !byHand.isExecuting && !byHand.isFinished && !byHand.isCancelled)
    byHand.start()
    #expect(byHand.isReady && !byHand.isExecuting && byHand.isFinished && !byHand.isCancelled)
    let queue = OperationQueue()
    let queued = Operation()
    queue.addOperation(queued)
    try await queue.untilAllOperationsAreFinished()
    #expect(queued.isFinished)
  }

  @Test(arguments: [false, true])
  func `a queue starts an operation on another thread, asynchronous or not`(
    isAsynchronous: Bool
  ) async throws {
    final class Started: Operation, @unchecked Sendable {
      let claimsToBeAsynchronous: Bool
      let thread = Locked("")

      init(_ claimsToBeAsynchronous: Bool) {
        self.claimsToBeAsynchronous = claimsToBeAsynchronous
        super.init()
      }

      override var isAsynchronous: Bool { claimsToBeAsynchronous }
      override func main() { thread.withLock { $0 = "\(Thread.current)" } }
    }
    let operation = Started(isAsynchronous)
    let queue = OperationQueue()
    let caller = await onThread {
      queue.addOperation(operation)
      operation.waitUntilFinished()
      return "\(Thread.current)"
    }
    #expect(operation.isAsynchronous == isAsynchronous)
    #expect(operation.isConcurrent == isAsynchronous)
    #expect(!operation.thread.withLock { $0 }.isEmpty)
    #expect(operation.thread.withLock { $0 } != caller)
  }

  @Test func `an asynchronous operation that is started manually continues after start returned`() {
    let operation = Patient()
    operation.start()
    #expect(operation.isExecuting && !operation.isFinished)
    operation.end()
    #expect(!operation.isExecuting && operation.isFinished)
  }

  @Test func `a start that calls super after all does no harm`() async throws {
    final class Polite: Operation, @unchecked Sendable {
      let ran = Countdown(1)
      override func start() { super.start() }
      override func main() { ran.count() }
    }
    let operation = Polite()
    let queue = OperationQueue()
    queue.addOperation(operation)
    try await queue.untilAllOperationsAreFinished()
    #expect(operation.isFinished)
    #expect(operation.ran.done.isOpen)
  }

  @Test func `a cancel during a wait makes the operation ready, and notifies its observers`()
    async throws
  {
    let queue = OperationQueue()
    let dependency = Operation()
    let operation = Operation()
    operation.addDependency(dependency)
    queue.addOperation(operation)
    #expect(!operation.isReady)
    let told = Locked<[String]>([])
    let tokens = [
      operation.observe(\.isCancelled, options: .new) { _, change in
        told.withLock { $0.append("cancelled \(change.newValue == true)") }
      },
      operation.observe(\.isReady, options: .new) { _, change in
        told.withLock { $0.append("ready \(change.newValue == true)") }
      },
      operation.observe(\.isFinished, options: .new) { _, change in
        told.withLock { $0.append("finished \(change.newValue == true)") }
      },
      operation.observe(\.isExecuting, options: .new) { _, change in
        told.withLock { $0.append("executing \(change.newValue == true)") }
      },
    ]
    operation.cancel()
    try await operation.untilFinished()
    try await queue.untilAllOperationsAreFinished()
    withExtendedLifetime(tokens) {}
    #expect(told.withLock { $0 }.sorted() == ["cancelled true", "finished true", "ready true"])
    #expect(!dependency.isFinished)
  }

  @Test func `observers are called on the thread that makes the change`() async {
    let operation = Operation()
    let thread = Locked("")
    let token = operation.observe(\.isCancelled) { _, _ in
      thread.withLock { $0 = "\(Thread.current)" }
    }
    let canceller = await onThread {
      operation.cancel()
      return "\(Thread.current)"
    }
    withExtendedLifetime(token) {}
    #expect(thread.withLock { $0 } == canceller)
  }

  @Test func `properties that a subclass adds can be observed as well`() {
    final class Download: Operation, @unchecked Sendable {
      private let state = Locked(0)

      var bytes: Int {
        get { state.withLock { $0 } }
        set {
          willChangeValue(for: \.bytes)
          state.withLock { $0 = newValue }
          didChangeValue(for: \.bytes)
        }
      }
    }
    let download = Download()
    let told = Locked<[Int]>([])
    let token = download.observe(\.bytes, options: [.old, .new]) { _, change in
      told.withLock { $0 += [change.oldValue, change.newValue].compactMap { $0 } }
    }
    download.bytes = 5
    download.bytes = 7
    withExtendedLifetime(token) {}
    #expect(told.withLock { $0 } == [0, 5, 5, 7])
  }

  @Test func `16 blocks of one operation are all running before the first returns`() async throws {
    let operation = BlockOperation()
    let met = Countdown(16)
    for _ in 0..<16 {
      operation.addExecutionBlock {
        met.count()
        met.done.pass()
      }
    }
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    queue.addOperation(operation)
    try await queue.untilAllOperationsAreFinished()
    #expect(operation.isFinished)
  }

  @Test func `what a class may override can be overridden`() async throws {
    let queue = OperationQueue()
    let operation = Overriding()
    let dependency = Operation()
    operation.addDependency(dependency)
    operation.removeDependency(dependency)
    operation.addDependency(dependency)
    operation.completionBlock = {}
    operation.name = "all"
    operation.queuePriority = .low
    operation.qualityOfService = .utility
    queue.addOperations([dependency, operation])
    await onThread { operation.waitUntilFinished() }
    try await queue.untilAllOperationsAreFinished()
    operation.cancel()
    #expect(operation.dependencies == [dependency])
    #expect(!operation.isConcurrent && !operation.isAsynchronous)
    let calls = operation.calls.withLock { $0 }
    #expect(
      calls.isSuperset(of: [
        "start", "main", "cancel", "completionBlock", "isFinished", "isReady", "isConcurrent",
        "isAsynchronous", "addDependency", "removeDependency", "dependencies", "name",
        "queuePriority", "qualityOfService", "waitUntilFinished",
      ])
    )
  }
}

/// Goes on until it is told to end.
private final class Patient: Operation, @unchecked Sendable {
  private let own = Locked((isExecuting: false, isFinished: false))

  override var isAsynchronous: Bool { true }
  override var isExecuting: Bool { own.withLock { $0.isExecuting } }
  override var isFinished: Bool { own.withLock { $0.isFinished } }

  override func start() {
    if isCancelled { end() } else { change(to: (true, false)) }
  }

  func end() { change(to: (false, true)) }

  private func change(to state: (Bool, Bool)) {
    willChangeValue(forKey: "isExecuting")
    willChangeValue(forKey: "isFinished")
    own.withLock { $0 = state }
    didChangeValue(forKey: "isExecuting")
    didChangeValue(forKey: "isFinished")
  }
}

/// Overrides everything that the documents list but the deprecated `threadPriority`, and notes what
/// was called.
private final class Overriding: Operation, @unchecked Sendable {
  let calls = Locked<Set<String>>([])

  private func note(_ call: String = #function) {
    calls.withLock { _ = $0.insert(String(call.prefix { $0 != "(" })) }
  }

  override func start() {
    note()
    super.start()
  }
  override func main() { note() }
  override func cancel() {
    note()
    super.cancel()
  }
  override func waitUntilFinished() {
    note()
    super.waitUntilFinished()
  }
  override func addDependency(_ op: Operation) {
    note()
    super.addDependency(op)
  }
  override func removeDependency(_ op: Operation) {
    note()
    super.removeDependency(op)
  }
  override var dependencies: [Operation] {
    note()
    return super.dependencies
  }
  override var isCancelled: Bool {
    note()
    return super.isCancelled
  }
  override var isExecuting: Bool {
    note()
    return super.isExecuting
  }
  override var isFinished: Bool {
    note()
    return super.isFinished
  }
  override var isReady: Bool {
    note()
    return super.isReady
  }
  override var isAsynchronous: Bool {
    note()
    return super.isAsynchronous
  }
  override var isConcurrent: Bool {
    note()
    return super.isConcurrent
  }
  override var completionBlock: (@Sendable () -> Void)? {
    get { super.completionBlock }
    set {
      note()
      super.completionBlock = newValue
    }
  }
  override var name: String? {
    get { super.name }
    set {
      note()
      super.name = newValue
    }
  }
  override var queuePriority: QueuePriority {
    get { super.queuePriority }
    set {
      note()
      super.queuePriority = newValue
    }
  }
  override var qualityOfService: QualityOfService {
    get { super.qualityOfService }
    set {
      note()
      super.qualityOfService = newValue
    }
  }
}
