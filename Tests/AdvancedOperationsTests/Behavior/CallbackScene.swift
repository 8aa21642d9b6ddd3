import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport

/// A small world with everything that calls back; one of the callbacks makes one call.
final class CallbackScene: Sendable {
  enum Callback: CaseIterable, Sendable {
    case didEnqueue, didStart, didProduce, didUpdateProgress, willRetry, didCancel
    case willFinish, didFinish
    case onStart, onCancel, onFinish, logLine, progressChange
    case execute, finishedHook, cancelledHook, asyncBody, block, completionBlock
    case prerequisite, verdict, evaluation
    case willAdd, didAdd, delegateDidFinish
    case recovery, rollback, retryMake, retryPolicy, repeatMake, roundError, barrier
  }

  /// A call of a public method.
  struct Call: Sendable {
    let name: String
    /// Makes the call; returns what has to be true when everything has come to rest.
    let body: @Sendable (CallbackScene) -> @Sendable () -> Bool
  }

  private let callback: Callback
  private let call: Call
  let world = World()
  let child: Probed
  let group: GroupOperation
  let retrying: RetryOperation<Void>
  let repeating: RepeatOperation<Void>
  private let called = Counter()
  private let check = Changing<@Sendable () -> Bool>({ true })
  private let ends = Counter()
  private let delegate = Changing<Delegate?>(nil)

  init(_ callback: Callback, _ call: Call) {
    self.callback = callback
    self.call = call
    let box = Weak()
    let reached: @Sendable (Callback) -> Void = { box.value?.reached($0) }
    child = Probed(reached)
    let child = child
    group = GroupOperation(name: "group") { child }
    retrying = RetryOperation(
      retry: RetryPolicy { count, _ in
        reached(.retryPolicy)
        return count < 3 ? .seconds(1) : nil
      }
    ) { attempt in
      reached(.retryMake)
      return attempt < 3 ? Work.failing() : Work()
    }
    repeating = RepeatOperation(times: 2) { _ in
      reached(.repeatMake)
      return Work.failing()
    }
    box.value = self
    attach(reached)
  }

  /// A way to the scene that doesn't own it.
  private final class Weak: Sendable {
    private let box = Changing<UnownedScene?>(nil)
    var value: CallbackScene? {
      get { box.value?.scene }
      set { box.value = newValue.map { UnownedScene(scene: $0) } }
    }
    private struct UnownedScene: Sendable { unowned let scene: CallbackScene }
  }

  private func attach(_ reached: @escaping @Sendable (Callback) -> Void) {
    child.addObserver(
      BlockObserver(
        didEnqueue: { _ in reached(.didEnqueue) },
        didStart: { _ in reached(.didStart) },
        didProduce: { _, _ in reached(.didProduce) },
        didUpdateProgress: { _, _ in reached(.didUpdateProgress) },
        didCancel: { _, _ in reached(.didCancel) },
        willFinish: { _, _ in reached(.willFinish) },
        didFinish: { _, _ in reached(.didFinish) }
      )
    )
    child.onStart { _ in reached(.onStart) }
    child.onCancel { _, _ in reached(.onCancel) }
    child.onFinish { [ends] _, _ in
      ends.add()
      reached(.onFinish)
    }
    child.addObserver(LogObserver { _ in reached(.logLine) })
    child.addObserver(ProgressObserver { _, _ in reached(.progressChange) })
    child.completionBlock = { reached(.completionBlock) }
    child.addCondition(
      Asked(
        prerequisite: { _ in
          reached(.prerequisite)
          return Work("prerequisite")
        },
        answer: { _ in
          reached(.evaluation)
          return .satisfied
        }
      )
    )
    child.addCondition(
      Immediate { _ in
        reached(.verdict)
        return .satisfied
      }
    )
    child.addClaim(MutuallyExclusive("child"))
    group.mapChildErrors { _, error in
      reached(.recovery)
      return error
    }
    group.onRollback { reached(.rollback) }
    retrying.addObserver(BlockObserver(willRetry: { _, _ in reached(.willRetry) }))
    repeating.mapRoundErrors { _, _ in
      reached(.roundError)
      return nil
    }
    let delegate = Delegate(group, reached)
    self.delegate.value = delegate
    world.queue.delegate = delegate
  }

  private final class Delegate: AdvancedOperationQueueDelegate {
    private let group: ObjectIdentifier
    private let reached: @Sendable (Callback) -> Void

    init(_ group: GroupOperation, _ reached: @escaping @Sendable (Callback) -> Void) {
      self.group = ObjectIdentifier(group)
      self.reached = reached
    }

    private func tell(_ callback: Callback, _ operation: AdvancedOperation) {
      if ObjectIdentifier(operation) == group { reached(callback) }
    }

    func operationQueue(_ queue: AdvancedOperationQueue, willAdd operation: AdvancedOperation) {
      tell(.willAdd, operation)
    }
    func operationQueue(_ queue: AdvancedOperationQueue, didAdd operation: AdvancedOperation) {
      tell(.didAdd, operation)
    }
    func operationQueue(
      _ queue: AdvancedOperationQueue,
      didFinish operation: AdvancedOperation,
      outcome: OperationOutcome
    ) { tell(.delegateDidFinish, operation) }
  }

  /// The operation whose callbacks are probed: fails, or waits to be cancelled.
  final class Probed: AdvancedOperation, @unchecked Sendable {
    // Sendable: all stored properties are immutable.
    private let reached: @Sendable (Callback) -> Void

    init(_ reached: @escaping @Sendable (Callback) -> Void) {
      self.reached = reached
      super.init()
      name = "child"
    }

    override var cancellationPolicy: CancellationPolicy { .whenFinishIsCalled }

    override func execute() {
      reached(.execute)
      updateProgress(completed: 1, total: 2)
      try? produce(Work("produced"))
    }

    override func cancelled(withErrors errors: [any Error]) { reached(.cancelledHook) }
    override func finished(withErrors errors: [any Error]) { reached(.finishedHook) }
  }

  // MARK: Playing

  private func reached(_ callback: Callback) {
    guard callback == self.callback, called.add() == 1 else { return }
    check.value = call.body(self)
  }

  func play() {
    let queue = world.queue
    queue.addOperations([group, retrying, repeating])
    queue.addOperation(ResultOperation { [weak self] in self?.reached(.asyncBody) })
    queue.addOperation { [weak self] in self?.reached(.block) }
    queue.addBarrierBlock { [weak self] in self?.reached(.barrier) }
    world.simulation.run()
    // The child waits in its work.
    if [.didCancel, .onCancel, .cancelledHook].contains(callback) { child.cancel() }
    world.simulation.run()
    if child.state == .executing { child.finish(withError: Flaw(1)) }
    world.simulation.run()
  }

  /// What is not as it should be after the world came to rest.
  var problems: [String] {
    var problems: [String] = []
    if called.count == 0 { problems.append("the callback was never reached") }
    if !check.value() { problems.append("the call had no effect") }
    for operation in [child, group, retrying, repeating] as [AdvancedOperation]
    where !operation.isFinished || operation.outcome == nil {
      problems.append("\(operation.debugDescription) hasn't finished")
    }
    if ends.count != 1 { problems.append("the child ended \(ends.count) times") }
    if world.queue.operationCount > 0 { problems.append("left: \(world.queue.operations)") }
    return problems
  }
}
