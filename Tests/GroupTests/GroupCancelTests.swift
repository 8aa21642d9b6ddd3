import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import TestSupport
import Testing

@Suite struct `Cancelling a group` {
  @Test(arguments: seeds)
  func `a cancelled group cancels its children with its reason and waits for them`(seed: UInt64) {
    let world = World(seed: seed)
    let polite = Work.open("polite", policy: .whenFinishIsCalled)
    let quick = Work.open("quick")
    let waiting = Work("waiting")
    waiting.addDependency(quick)
    let group = GroupOperation {
      polite
      quick
      waiting
    }
    world.run(group)
    group.cancel(withError: Flaw(1))
    world.simulation.run()
    #expect(group.state == .executing)
    #expect(polite.isCancelled)
    #expect(quick.kind == .cancelled)
    #expect(waiting.kind == .cancelled)
    #expect(!waiting.didExecute)
    for child in [polite, quick, waiting] {
      #expect(child.cancellationReason as? Flaw == Flaw(1))
    }
    polite.finish(withError: Flaw(2))
    world.simulation.run()
    #expect(group.kind == .cancelled)
    #expect(group.flawNumbers == [1, 2], "the reason once, and what else went wrong")
  }

  @Test(arguments: [true, false])
  func `a group marks all children cancelled before it notifies their observers`(isFailFast: Bool) {
    let world = World()
    let log = Log<[Bool]>()
    let children = (0..<3).map { Work.open("\($0)") }
    for child in children { child.onCancel { _, _ in log.add(children.map(\.isCancelled)) } }
    let failing = Work.open("failing")
    let group = GroupOperation(errorPolicy: .failFast) {
      for child in children { child }
      failing
    }
    world.run(group)
    if isFailFast { failing.finish(withError: Flaw(1)) } else { group.cancel() }
    world.simulation.run()
    #expect(log.entries == Array(repeating: [true, true, true], count: 3))
  }

  @Test func `a cancelled group cancels its grandchildren`() {
    let world = World()
    let grandchild = Work.open("grandchild")
    let inner = GroupOperation(name: "inner") { grandchild }
    let outer = GroupOperation(name: "outer") { inner }
    world.run(outer)
    outer.cancel(withError: Flaw(1))
    world.simulation.run()
    #expect(grandchild.cancellationReason as? Flaw == Flaw(1))
    #expect([grandchild, inner, outer].allSatisfy { $0.kind == .cancelled })
    #expect(outer.flawNumbers == [1])
  }

  @Test func `a cancelled group refuses and cancels a late child`() {
    let world = World()
    let polite = Work.open("polite", policy: .whenFinishIsCalled)
    let group = GroupOperation { polite }
    world.run(group)
    group.cancel(withError: Flaw(1))
    let late = Work("late")
    #expect(!group.addOperation(late))
    #expect(late.isCancelled)
    #expect(group.children == [polite])
    #expect(late.cancellationReason as? Flaw == Flaw(1))
    world.simulation.run()
    #expect(late.kind == .cancelled)
    #expect(!late.didExecute)
    polite.finish()
    world.simulation.run()
    #expect(group.kind == .cancelled)
  }

  enum Ending: CaseIterable, Sendable {
    case cancelledBefore, cancelledInQueue, conditionFailed, skipped
  }

  @Test(arguments: Ending.allCases, [false, true])
  func `a group that never starts lets its children finish`(ending: Ending, hasReason: Bool) {
    let world = World()
    let first = Work("first")
    let second = Work("second")
    second.addDependency(first)
    let plain = BlockOperation {}
    let group = GroupOperation(name: "group") {
      second
      first
      plain
    }
    let asked = Counter()
    group.mapChildErrors { _, error in
      asked.add()
      return error
    }
    let dependency = Work.open()
    group.addDependency(dependency)
    switch ending {
    case .cancelledBefore, .cancelledInQueue: break
    case .conditionFailed: group.addCondition(Immediate(always: .failed(Flaw(1))))
    case .skipped: group.addCondition(Immediate(always: .skipped(reason: "no need")))
    }
    let cancel = { if hasReason { group.cancel(withError: Flaw(1)) } else { group.cancel() } }
    if ending == .cancelledBefore { cancel() }
    world.run(group, dependency)
    if ending == .cancelledInQueue { cancel() }
    dependency.finish()
    world.simulation.run()
    #expect(group.state == .finished)
    #expect([first, second].allSatisfy { $0.kind == .cancelled && !$0.didExecute })
    #expect(plain.isFinished && plain.isCancelled)
    #expect(asked.count == 0, "the end of the group was decided before")
    #expect(group.children.allSatisfy { $0.isFinished })
    switch ending {
    case .cancelledBefore, .cancelledInQueue:
      #expect(group.kind == .cancelled)
      #expect(group.flawNumbers == (hasReason ? [1] : []))
      #expect(first.cancellationReason as? Flaw == (hasReason ? Flaw(1) : nil))
    case .conditionFailed:
      let failure = first.cancellationReason as? OperationFailure
      #expect(flaws(failure?.errors ?? []) == [1])
    case .skipped: #expect(first.cancellationReason == nil)
    }
    #expect(!group.addOperation(Work()))
  }

  @Test(arguments: seeds)
  func `children of a group that never executes have finished when the queue is empty`(seed: UInt64)
  {
    let world = World(seed: seed)
    let children = (0..<3).map { Work("child \($0)") }
    let group = GroupOperation { children }
    let open = Work.open("open")
    group.addDependency(open)
    world.queue.addOperation(group)
    open.cancel()
    group.cancel()
    while world.simulation.step() {
      if world.queue.operations.isEmpty { #expect(children.allSatisfy { $0.isFinished }) }
    }
    #expect(world.queue.operations.isEmpty)
  }

  @Test func `a group that is cancelled early cancels children that are added later`() {
    let world = World()
    let group = GroupOperation()
    group.cancel(withError: Flaw(1))
    let child = Work()
    #expect(group.addOperation(child))
    #expect(child.cancellationReason as? Flaw == Flaw(1))
    world.run(group)
    #expect(group.kind == .cancelled)
    #expect(child.kind == .cancelled)
  }

  @Test(.watched)
  func `a group that is cancelled while children start and finish always ends`() async throws {
    let queue = AdvancedOperationQueue()
    for _ in 0..<Effort.rounds(500) {
      let children = (0..<4).map { _ in ResultOperation { await Task.yield() } }
      let group = GroupOperation(maxConcurrentOperationCount: 2) { children }
      let late = Work()
      await together(
        { queue.addOperation(group) },
        { group.cancel(withError: Flaw(1)) },
        { if !group.addOperation(late) { late.cancel() } }
      )
      try await group.untilFinished()
      for child in children { try await child.untilFinished() }
      #expect(group.kind == .cancelled || group.kind == .succeeded)
      #expect((group.kind == .cancelled) == group.isCancelled)
    }
    try await queue.untilAllOperationsAreFinished()
  }

  @Test func `a cancelled group starts no child that depends on a cancelled child`() {
    let world = World()
    let first = Work.open("first")
    let between = Work.open("between")
    let last = Work("last")
    last.addDependency(first)
    let group = GroupOperation {
      first
      between
      last
    }
    world.run(group)
    // All that can happen happens while one of them is told of its cancel.
    between.onCancel { _, _ in world.simulation.run() }
    group.cancel()
    world.simulation.run()
    #expect(last.kind == .cancelled)
    #expect(!last.didExecute)
  }

  /// A child whose code runs between the cancels of the others.
  private final class Between: Operation, @unchecked Sendable {
    private let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    override func cancel() {
      body()
      super.cancel()
    }
  }

  @Test func `a cancelled group starts no dependent of a plain child that left early`() {
    let world = World()
    let (outside, last) = (Work("outside"), Work("last"))
    let first = BlockOperation {}
    let between = Between { world.simulation.run() }
    first.addDependency(outside)
    between.addDependency(outside)
    last.addDependency(first)
    let group = GroupOperation()
    for child in [first, between, last] { group.addOperation(child) }
    world.run(group)
    group.cancel()
    world.simulation.run()
    #expect(group.isFinished)
    #expect(last.kind == .cancelled)
    #expect(!last.didExecute)
  }

  @Test(arguments: Ending.allCases)
  func `a group that never starts finishes after its children`(ending: Ending) {
    let world = World()
    let log = Log<String>()
    let stubborn = Stubborn()
    let child = Work("child")
    child.addDependency(stubborn)
    child.onFinish { _, _ in log.add("child") }
    let group = GroupOperation(name: "group") {
      child
      stubborn
    }
    switch ending {
    case .cancelledBefore: group.cancel()
    case .cancelledInQueue: break
    case .conditionFailed: group.addCondition(Immediate(always: .failed(Flaw(1))))
    case .skipped: group.addCondition(Immediate(always: .skipped(reason: "no need")))
    }
    group.onFinish { _, _ in log.add("group") }
    if ending == .cancelledInQueue { world.queue.isSuspended = true }
    world.queue.addOperation(group)
    if ending == .cancelledInQueue {
      group.cancel()
      world.queue.isSuspended = false
    }
    world.simulation.run()
    #expect(group.state == .finishing)
    #expect(text(group).contains("waits for its children"))
    #expect(!group.addOperation(Work()))
    group.cancel(withError: Flaw(9))
    group.finish()
    stubborn.end()
    world.simulation.run()
    #expect(log.entries == ["child", "group"])
    #expect(group.state == .finished)
    #expect(!group.flawNumbers.contains(9), "its end was decided before")
    #expect(world.queue.operationCount == 0)
  }

  /// Ends when the test says so, whether it was cancelled or not.
  private final class Stubborn: Operation, @unchecked Sendable {
    private let isOver = Changing(false)
    override var isFinished: Bool { isOver.value }
    override func start() {}
    func end() {
      isOver.value = true
      didChangeValue(forKey: "isFinished")
    }
  }
}
