import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import Testing

@Suite struct `A queue's delegate and environment` {
  @Test func `the delegate is called before and after adding and at the end`() {
    let world = World()
    let delegate = RecordingDelegate()
    world.queue.delegate = delegate
    let log = delegate.log
    let work = Work.failing("w", 3)
    work.addObserver(
      BlockObserver(
        didEnqueue: { _ in log.add("observer enqueued") },
        didFinish: { _, _ in log.add("observer finished") }
      )
    )
    world.run(work)
    #expect(
      log.entries == [
        "willAdd w false", "observer enqueued", "didAdd w true", "observer finished",
        "didFinish w [3] finishing",
      ]
    )
  }

  @Test func `the delegate is notified of an operation that is added while being cancelled`() {
    let world = World()
    let delegate = RecordingDelegate()
    world.queue.delegate = delegate
    let work = Work("w")
    work.onCancel { work, _ in
      world.queue.addOperation(work)
      // It leaves, of which the one who tells of the cancel will tell as well.
      world.simulation.run()
    }
    work.cancel()
    #expect(
      delegate.log.entries == ["willAdd w false", "didAdd w true", "didFinish w [] finishing"]
    )
  }

  @Test func `conditions and claims may be added in the delegate's willAdd`() {
    let world = World()
    let delegate = RecordingDelegate()
    world.queue.delegate = delegate
    delegate.willAdd.value = { operation in
      operation.addCondition(Immediate("late", always: .failed(Flaw(1))))
      operation.addClaim(MutuallyExclusive("late"))
    }
    let work = Work()
    world.run(work)
    #expect(work.flawNumbers == [1])
    #expect(!work.didExecute)
  }

  @Test func `dependents start after the delegate was notified of the end`() {
    let world = World()
    let delegate = RecordingDelegate()
    world.queue.delegate = delegate
    let work = Work("work")
    let dependent = Work("dependent")
    dependent.addDependency(work)
    delegate.didFinish.value = { operation in
      if operation === work { dependent.cancel() }
    }
    world.run(work, dependent)
    #expect(dependent.kind == .cancelled)
    #expect(!dependent.didExecute)
  }

  @Test(arguments: [false, true])
  func `a late delegate is notified of all following ends`(isObserved: Bool) {
    let world = World()
    let (before, open, later) = (Work("before"), Work.open("open"), Work("later"))
    if isObserved { for work in [before, open, later] { work.onFinish { _, _ in } } }
    world.run(before, open)
    let delegate = RecordingDelegate()
    world.queue.delegate = delegate
    open.finish()
    world.run(later)
    #expect(
      delegate.log.entries == [
        "didFinish open [] finishing", "willAdd later false", "didAdd later true",
        "didFinish later [] finishing",
      ]
    )
  }

  @Test func `a delegate is notified only about its own queue`() {
    let world = World()
    let other = AdvancedOperationQueue(environment: world.queue.environment)
    let delegate = RecordingDelegate()
    other.delegate = delegate
    let (mine, others) = (Work("mine"), Work("others"))
    world.queue.addOperation(mine)
    other.addOperation(others)
    world.simulation.run()
    #expect(mine.isFinished && others.isFinished)
    #expect(
      delegate.log.entries == [
        "willAdd others false", "didAdd others true", "didFinish others [] finishing",
      ]
    )
  }

  @Test func `the delegate is not retained`() {
    let world = World()
    weak var weakly: RecordingDelegate?
    do {
      let delegate = RecordingDelegate()
      weakly = delegate
      world.queue.delegate = delegate
      #expect(world.queue.delegate === delegate)
    }
    #expect(weakly == nil)
    #expect(world.queue.delegate == nil)
    world.run(Work())
  }

  @Test func `a delegate may implement no method`() {
    final class Nothing: AdvancedOperationQueueDelegate {}
    let world = World()
    let delegate = Nothing()
    world.queue.delegate = delegate
    let work = Work()
    world.run(work)
    #expect(work.kind == .succeeded)
  }

  @Test func `the delegate isn't notified of plain operations`() {
    let world = World()
    let delegate = RecordingDelegate()
    world.queue.delegate = delegate
    world.run(BlockOperation {})
    #expect(delegate.log.entries.isEmpty)
  }

  @Test func `operations have the environment of their queue`() async throws {
    let world = World()
    let seen = Changing<Duration?>(nil)
    let work = Work { work in
      seen.value = work.environment.clock.now
      work.finish()
    }
    let timer = ResultOperation {
      guard let clock = AdvancedOperation.current?.environment.clock else { return }
      try await clock.sleep(until: clock.now + .seconds(90))
    }
    work.addDependency(timer)
    world.run(timer, work)
    #expect(seen.value == .seconds(90))
  }

  @Test func `an operation's environment applies until a queue sets its own`() {
    let (first, second) = (World(seed: 1), World(seed: 2))
    let work = Work()
    work.environment = first.simulation.environment
    #expect(work.environment.claimDomain === first.queue.environment.claimDomain)
    second.run(work)
    #expect(work.environment.claimDomain === second.queue.environment.claimDomain)
    work.environment = first.simulation.environment
    #expect(work.environment.claimDomain === second.queue.environment.claimDomain)
  }

  @Test func `copies of an environment are independent`() {
    let one = OperationEnvironment()
    var other = one
    other.claimDomain = ClaimDomain()
    other.random = { 42 }
    #expect(one.claimDomain === ClaimDomain.shared)
    #expect(other.claimDomain !== one.claimDomain)
    #expect(other.random() == 42)
    #expect(one.executor == nil)
  }

  @Test(.watched)
  func `an advanced operation in a plain queue keeps all its features`() async throws {
    let queue = OperationQueue()
    let domainWide = MutuallyExclusive("plain queue of this test")
    let dependency = Work()
    let recorder = RecordingObserver()
    let work = Work()
    work.addDependency(dependency)
    work.addCondition(Immediate())
    work.addCondition(Asked { _ in .satisfied })
    work.addClaim(domainWide)
    work.addObserver(recorder)
    let failing = Work()
    failing.addCondition(Asked { _ in .failed(Flaw(1)) })
    queue.addOperations([work, dependency, failing])
    try await queue.untilAllOperationsAreFinished()
    #expect(work.kind == .succeeded)
    #expect(recorder.kinds == [.enqueued, .started, .willFinish, .finished])
    #expect(failing.flawNumbers == [1])
    #expect(work.environment.claimDomain === ClaimDomain.shared)
  }

  @Test func `an operation that depends on itself is cancelled with the cycle as its reason`() {
    let world = World()
    let work = Work("work")
    work.addDependency(work)
    world.run(work)
    #expect(work.kind == .cancelled)
    #expect(work.cancellationReason is OperationCycleError)
    #expect(work.errors.first is OperationCycleError)
    #expect(!work.didExecute)
  }

  @Test func `operations of a cycle are cancelled whether they have conditions or not`() {
    let world = World()
    let works = (0..<3).map { Work("w\($0)") }
    for (work, next) in zip(works, works.dropFirst() + works.prefix(1)) {
      work.addDependency(next)
      work.addCondition(Asked { _ in .satisfied })
    }
    world.queue.addOperations(works)
    world.simulation.run()
    #expect(works.allSatisfy { $0.kind == .cancelled })
    #expect(works.allSatisfy { $0.cancellationReason is OperationCycleError })
    #expect(world.queue.operationCount == 0)
  }

  @Test(.watched) func `a completion block runs after the end, once`() async throws {
    let queue = AdvancedOperationQueue()
    let log = Log<String>()
    let work = Work()
    work.onFinish { _, _ in log.add("finish") }
    work.completionBlock = { log.add("completion") }
    queue.addOperation(work)
    try await queue.untilAllOperationsAreFinished()
    #expect(log.entries == ["finish", "completion"])
    #expect(work.completionBlock == nil)
  }
}
