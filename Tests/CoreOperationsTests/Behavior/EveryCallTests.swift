import CoreOperations
import TestSupport
import Testing

/// Every call of the public API in every state of an operation, from everywhere: what the documents
/// say about the pair, or the one sentence of the trap; never a hang, never another crash.
@Suite(.watched, .heavy, .serialized) struct `Every call in every state` {
  /// The state of an operation when something is called on it.
  enum State: String, CaseIterable, Sendable {
    case made, madeWaiting, madeCancelled
    case queued, queuedWaiting, queuedCancelled
    case executing, executingCancelled
    case finished, finishedCancelled

    var isQueued: Bool { rawValue.hasPrefix("queued") }
    var isExecuting: Bool { rawValue.hasPrefix("executing") }
    var isFinished: Bool { rawValue.hasPrefix("finished") }
    var isCancelled: Bool { rawValue.hasSuffix("Cancelled") }
  }

  enum Call: String, CaseIterable, Sendable {
    case start, cancel, addToQueue
    case addOpenDependency, addFinishedDependency, addItself, removeDependency, removeStranger
    case setCompletion, clearCompletion, setName, setPriority, setQuality
    case waitInThread, waitInTask, observe, reportReady, reportFinished, read
  }

  /// Where the call is made.
  enum Place: String, CaseIterable, Sendable {
    case outside, main, completionBlock, observer
  }

  struct Pair: Sendable, CustomTestStringConvertible {
    let state: State
    let call: Call
    let place: Place
    var testDescription: String { "\(call.rawValue), \(state.rawValue), \(place.rawValue)" }
  }

  static let pairs: [Pair] = Place.allCases.flatMap { place in
    State.allCases.flatMap { state in
      Call.allCases.compactMap { call in
        switch place {
        case .outside: Pair(state: state, call: call, place: place)
        case .main: state.isExecuting ? Pair(state: state, call: call, place: place) : nil
        // The block of one that left without running is the same as that of one that ran.
        case .completionBlock: state.isFinished ? Pair(state: state, call: call, place: place) : nil
        case .observer:
          state.isExecuting || state.isFinished || state == .queuedCancelled
            ? Pair(state: state, call: call, place: place) : nil
        }
      }
    }
  }

  static let quiet = pairs.filter { mistake(of: $0) == nil }
  static let trapping = pairs.filter { mistake(of: $0) != nil }

  /// What the documents call a programmer error.
  static func mistake(of pair: Pair) -> String? {
    switch pair.call {
    case .start:
      if pair.state == .madeWaiting { return "which is not ready" }
      if pair.state.isQueued { return "which is in a queue" }
      return pair.state.isExecuting ? "which is executing" : nil
    case .addToQueue:
      if pair.state.isQueued { return "but it is in one already" }
      return pair.state.isExecuting || pair.state.isFinished
        ? "after it had started or finished" : nil
    case .waitInThread:
      // A thread of its own that waits for itself.
      let isOwn = pair.state.isExecuting && pair.place != .outside
      return isOwn ? "by an operation that" : nil
    default: return nil
    }
  }

  @Test(arguments: quiet) func `every call is safe in every allowed state`(pair: Pair) async {
    let subject = Subject(pair)
    await subject.run()
    let operation = subject.operation
    #expect(operation.isFinished && !operation.isExecuting && operation.isReady)
    #expect(subject.queue.operationCount == 0)
    #expect(operation.isCancelled == subject.endsCancelled)
    #expect(subject.mains.now == (subject.mayRun ? 1 : 0))
    #expect(subject.completions.now == (subject.runsCompletion ? 1 : 0))
    if pair.call == .waitInThread || pair.call == .waitInTask { await subject.waited.opened() }
  }

  @Test(arguments: trapping)
  func `every forbidden call traps with a message`(pair: Pair) async throws {
    let number = try #require(
      Self.trapping.firstIndex { $0.testDescription == pair.testDescription }
    )
    let result = await #expect(
      processExitsWith: .failure,
      observing: [\.standardErrorContent]
    ) { [number = number as Int] in
      await Subject(`Every call in every state`.trapping[number]).run()
    }
    let bytes = try #require(result).standardErrorContent
    let text = String(decoding: bytes, as: UTF8.self)
    let mistake = try #require(Self.mistake(of: pair))
    #expect(text.contains("Fatal error: "), "\(text)")
    #expect(text.contains(mistake), "\(text)")
    #expect(text.contains("subject"), "which operation it was")
  }
}

/// One operation that is brought into a state, called, and brought to its end.
private final class Subject: Sendable {
  typealias Suite = `Every call in every state`

  let pair: Suite.Pair
  let operation: Operation
  let queue = OperationQueue()
  let mains = Tally()
  let completions = Tally()
  let waited = Latch()
  private let dependency = Operation()
  private let late = Operation()
  /// The body is in `main()`, and may go on.
  private let begun = Latch()
  private let mayEnd = Latch()
  private let called = Latch()
  private let completionRan = Latch()
  private let token = Locked<ObservationToken?>(nil)
  private let hasCalled = Locked(false)

  init(_ pair: Suite.Pair) {
    self.pair = pair
    final class Body: Operation, @unchecked Sendable {
      let body: @Sendable () -> Void
      init(_ body: @escaping @Sendable () -> Void) { self.body = body }
      override func main() { body() }
    }
    let onMain = Locked<@Sendable () -> Void>({})
    operation = Body { onMain.withLock { $0 }() }
    operation.name = "subject"
    queue.isSuspended = true
    operation.completionBlock = { [weak self] in
      guard let self else { return }
      completions.add()
      if pair.place == .completionBlock { call() }
      completionRan.open()
    }
    onMain.withLock { onMain in
      onMain = { [weak self] in
        guard let self else { return }
        mains.add()
        // Flagged by its own hand, before anything of the pair happens.
        if pair.state == .executingCancelled { operation.cancel() }
        begun.open()
        if pair.place == .main { call() }
        // The place is outside, and the state is executing.
        if pair.place == .outside && pair.state.isExecuting { mayEnd.pass() }
      }
    }
  }

  // MARK: What is to be expected

  private var isCancelledByCall: Bool {
    let isInTime = !pair.state.isFinished
    let isCycle = pair.call == .addItself && !pair.state.isCancelled
    return isInTime && (pair.call == .cancel || isCycle)
  }

  /// A cancel of an operation that has finished changes nothing.
  var endsCancelled: Bool { pair.state.isCancelled || isCancelledByCall }

  var mayRun: Bool {
    switch pair.state {
    case .executing, .executingCancelled, .finished: true
    case .finishedCancelled, .madeCancelled, .queuedCancelled: false
    // The report of an end that isn't one changes nothing, for `isFinished` isn't overridden.
    case .made, .madeWaiting, .queued, .queuedWaiting: !isCancelledByCall
    }
  }

  /// A block that is replaced or taken away doesn't run; one that is set after the end never does.
  var runsCompletion: Bool {
    switch pair.call {
    case .clearCompletion, .setCompletion: pair.state.isFinished
    default: true
    }
  }

  // MARK: The run

  func run() async {
    await bringIntoState()
    switch pair.place {
    case .outside: await onThread { self.call() }
    case .main, .completionBlock, .observer: break
    }
    await bringToEnd()
    if pair.place != .outside { await called.opened() }
    token.withLock { $0.take() }?.invalidate()
  }

  private func bringIntoState() async {
    if pair.place == .observer { observe() }
    switch pair.state {
    case .made: break
    case .madeWaiting: operation.addDependency(dependency)
    case .madeCancelled: operation.cancel()
    case .queued: queue.addOperation(operation)
    case .queuedWaiting:
      operation.addDependency(dependency)
      queue.addOperation(operation)
    case .queuedCancelled:
      queue.addOperation(operation)
      operation.cancel()
    case .executing, .executingCancelled:
      queue.addOperation(operation)
      queue.isSuspended = false
      await begun.opened()
    case .finished:
      queue.addOperation(operation)
      queue.isSuspended = false
      if pair.place == .outside { try? await queue.untilAllOperationsAreFinished() }
    case .finishedCancelled:
      queue.addOperation(operation)
      operation.cancel()
      queue.isSuspended = false
      if pair.place == .outside { try? await queue.untilAllOperationsAreFinished() }
    }
  }

  private func bringToEnd() async {
    queue.isSuspended = false
    mayEnd.open()
    if !dependency.isFinished { dependency.start() }
    if !late.isFinished { late.start() }
    let isInNoQueue = !pair.state.isQueued && !pair.state.isExecuting && !pair.state.isFinished
    if isInNoQueue && pair.call != .addToQueue && !operation.isFinished { operation.start() }
    try? await operation.untilFinished()
    try? await queue.untilAllOperationsAreFinished()
    if runsCompletion { await completionRan.opened() }
  }

  private func observe() {
    let change: @Sendable (Operation) -> Void = { [weak self] operation in
      guard let self else { return }
      let isThere =
        switch pair.state {
        case .executing, .executingCancelled: operation.isExecuting
        case .finished, .finishedCancelled: operation.isFinished
        default: operation.isCancelled && !operation.isFinished
        }
      let isFirst = hasCalled.withLock { hasCalled in
        defer { hasCalled = hasCalled || isThere }
        return isThere && !hasCalled
      }
      if isFirst { call() }
    }
    let made =
      switch pair.state {
      case .executing, .executingCancelled:
        operation.observe(\.isExecuting) { operation, _ in change(operation) }
      case .finished, .finishedCancelled:
        operation.observe(\.isFinished) { operation, _ in change(operation) }
      default: operation.observe(\.isCancelled) { operation, _ in change(operation) }
      }
    token.withLock { $0 = made }
  }

  private func call() {
    defer { called.open() }
    switch pair.call {
    case .start: operation.start()
    case .cancel: operation.cancel()
    case .addToQueue: queue.addOperation(operation)
    case .addOpenDependency:
      operation.addDependency(late)
      #expect(operation.dependencies.contains(late))
    case .addFinishedDependency:
      let finished = Operation()
      finished.start()
      operation.addDependency(finished)
    case .addItself: operation.addDependency(operation)
    case .removeDependency:
      operation.removeDependency(dependency)
      #expect(!operation.dependencies.contains(dependency))
    case .removeStranger: operation.removeDependency(late)
    case .setCompletion: operation.completionBlock = {}
    case .clearCompletion: operation.completionBlock = nil
    case .setName:
      operation.name = "subject again"
      #expect(operation.description.hasPrefix("subject again ("))
    case .setPriority:
      operation.queuePriority = .veryHigh
      #expect(operation.queuePriority == .veryHigh)
    case .setQuality:
      operation.qualityOfService = .utility
      #expect(operation.qualityOfService == .utility)
    case .waitInThread:
      if pair.place == .outside {
        launchThread { [self] in
          operation.waitUntilFinished()
          waited.open()
        }
      } else {
        // An observer of its cancellation is called by the thread that cancels: it isn't the
        // operation's own, but what it waits for comes after it.
        if operation.isFinished || pair.state.isExecuting { operation.waitUntilFinished() }
        waited.open()
      }
    case .waitInTask:
      Task { [self] in
        try? await operation.untilFinished()
        waited.open()
      }
    case .observe: _ = operation.observe(\.isFinished, options: [.initial]) { _, _ in }
    case .reportReady:
      operation.willChangeValue(forKey: "isReady")
      operation.didChangeValue(forKey: "isReady")
    case .reportFinished:
      operation.willChangeValue(forKey: "isFinished")
      operation.didChangeValue(forKey: "isFinished")
    case .read:
      _ = (operation.isReady, operation.isAsynchronous, operation.isConcurrent)
      _ = (operation.debugDescription, operation.waitCauses, operation.hashValue)
      _ = (operation.cancellationReason, operation.completionBlock == nil)
      _ = (queue.operations, queue.progress.fractionCompleted)
    }
  }
}
