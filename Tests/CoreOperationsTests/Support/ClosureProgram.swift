import AdvancedOperationsTesting
import CoreOperations
import TestSupport

/// A random program over one queue: what is done to it, from outside and by what it runs.
///
/// It runs once with closures and once with block operations in their place; what it notes has to
/// be the same.
struct ClosureProgram: Sendable {
  indirect enum Action: Sendable {
    case add(Item)
    case addOperation(Item, Operation.QueuePriority)
    case addBarrier(Int)
    case look
    case lookAtOneself
    case cancelAll
    case cancelOne(Int)
    case suspend(Bool)
    case limit(Int)
    case runWorkers
    case note
  }

  struct Item: Sendable {
    let number: Int
    let actions: [Action]
  }

  /// What a program may do.
  enum Terms: Sendable {
    /// Everything, on the thread of the test.
    case stepped
    /// On threads, one at a time: all that decides on no order but that of the queue.
    case oneAtATime
    /// On threads, several at a time: what comes to the same in any order.
    case together
  }

  enum Form: Sendable { case closures, operations }

  private let terms: Terms
  private(set) var actions: [Action] = []
  /// What is cancelled leaves beside what runs: on threads, others may see it or not.
  private var cancels = false
  private var lastNumber = 0
  private var random: SplitMix64

  init(seed: UInt64, _ terms: Terms) {
    self.terms = terms
    random = SplitMix64(seed: seed)
    for _ in 0..<Int.random(in: 8...40, using: &random) { actions.append(action(depth: 0)) }
  }

  // MARK: Making one

  private mutating func item(depth: Int) -> Item {
    lastNumber += 1
    let number = lastNumber
    var actions: [Action] = []
    if depth < 3, Int.random(in: 0..<3, using: &random) == 0 {
      for _ in 0..<Int.random(in: 1...3, using: &random) {
        actions.append(action(depth: depth + 1))
      }
    }
    return Item(number: number, actions: actions)
  }

  private mutating func action(depth: Int) -> Action {
    let isInside = depth > 0
    switch Int.random(in: 0..<40, using: &random) {
    case 0..<20: return .add(item(depth: depth))
    case 20..<23:
      let priority = Operation.QueuePriority.allCases.randomElement(using: &random) ?? .normal
      return .addOperation(item(depth: depth), terms == .together ? .normal : priority)
    case 23..<25:
      // Barriers that are added at the same time divide what is there in any way.
      if isInside, terms == .together { return .look }
      lastNumber += 1
      return .addBarrier(lastNumber)
    case 25..<28: return .look
    case 28..<30: return .lookAtOneself
    case 30:
      if terms == .together { return .look }
      cancels = true
      return .cancelAll
    case 31: return terms == .stepped ? .cancelOne(.random(in: 0..<4, using: &random)) : .look
    case 32..<34: return terms == .stepped ? .suspend(.random(using: &random)) : .note
    case 34..<36: return terms == .stepped ? .limit(.random(in: -1...3, using: &random)) : .note
    case 36..<39: return terms == .stepped ? .runWorkers : .look
    default: return .note
    }
  }

  // MARK: Running it

  /// What one run of a program has at hand.
  private final class Run: Sendable {
    let queue: OperationQueue
    let executor: ManualExecutor?
    let form: Form
    /// Whether what is seen in between is noted as well: it has to be determined.
    let notesAll: Bool
    let log = Log<String>()
    let live = LiveCount()

    init(_ queue: OperationQueue, _ executor: ManualExecutor?, _ form: Form, notesAll: Bool) {
      self.queue = queue
      self.executor = executor
      self.form = form
      self.notesAll = notesAll
    }

    private func body(_ item: Item) -> @Sendable () -> Void {
      let token = Token(live)
      return { [self] in
        token.touch()
        log.add("\(item.number)")
        for action in item.actions { perform(action) }
        if !item.actions.isEmpty { log.add("\(item.number) ends") }
      }
    }

    private func note(_ text: @autoclosure () -> String) { if notesAll { log.add(text()) } }

    private func state(of operation: Operation) -> String {
      let phase = operation.isFinished ? "f" : operation.isExecuting ? "e" : "w"
      return phase + (operation.isCancelled ? "c" : "") + (operation.isReady ? "r" : "")
    }

    func perform(_ action: Action) {
      switch action {
      case .add(let item):
        switch form {
        case .closures: queue.addOperation(body(item))
        case .operations: queue.addOperation(BlockOperation(block: body(item)))
        }
      case .addOperation(let item, let priority):
        let operation = BlockOperation(block: body(item))
        operation.queuePriority = priority
        queue.addOperation(operation)
      case .addBarrier(let number): queue.addBarrierBlock { [log] in log.add("barrier \(number)") }
      case .look:
        let operations = queue.operations
        note("sees " + operations.map(state).joined(separator: " "))
      case .lookAtOneself:
        let callers = CurrentCode.callers
        note("is " + callers.map(state).joined(separator: " "))
      case .cancelAll: queue.cancelAllOperations()
      case .cancelOne(let index):
        let operations = queue.operations
        if index < operations.count { operations[index].cancel() }
      case .suspend(let isSuspended): queue.isSuspended = isSuspended
      case .limit(let limit): queue.maxConcurrentOperationCount = limit
      case .runWorkers: executor?.runAll()
      case .note:
        let progress = queue.progress
        note(
          "has \(queue.operationCount), \(progress.completedUnitCount) of "
            + "\(progress.totalUnitCount), \(live.alive) alive"
        )
      }
    }

    /// What is so when everything is over.
    func finish() {
      let progress = queue.progress
      log.add(
        "at the end \(queue.operationCount), \(progress.completedUnitCount) of "
          + "\(progress.totalUnitCount), \(live.alive) of \(live.made) alive"
      )
    }
  }

  /// Runs the program on the thread that calls this, and returns what happened, in order.
  func stepped(_ form: Form) -> [String] {
    let executor = ManualExecutor()
    let run = Run(OperationQueue(executor: executor), executor, form, notesAll: true)
    for action in actions { run.perform(action) }
    // Bodies may suspend it, or set the limit to 0, again and again; each runs once.
    repeat {
      run.queue.isSuspended = false
      run.queue.maxConcurrentOperationCount = -1
      executor.runAll()
    } while !run.queue.isIdle
    run.finish()
    return run.log.entries
  }

  /// Runs the program on threads, and returns what happened, in order.
  ///
  /// All is added before anything runs.
  func threaded(_ form: Form, limit: Int = 1) async throws -> [String] {
    let run = Run(OperationQueue(), nil, form, notesAll: terms == .oneAtATime && !cancels)
    run.queue.maxConcurrentOperationCount = limit
    run.queue.isSuspended = true
    for action in actions { run.perform(action) }
    run.queue.isSuspended = false
    try await run.queue.untilAllOperationsAreFinished()
    run.finish()
    return run.log.entries
  }
}
