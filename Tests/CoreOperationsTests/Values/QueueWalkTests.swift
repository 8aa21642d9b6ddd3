import AdvancedOperationsTesting
import TestSupport
import Testing

@testable import CoreOperations

/// An operation that was in one place was in another after the next event.
private struct Move: Hashable {
  let from: Placement
  let to: Placement
}

/// Random events in random order, as threads would bring them, without threads.
///
/// The walk is every caller of the machine: workers, layers, bodies, other queues. It keeps the
/// promises that these keep, and no others.
private struct Walk {
  private final class Item {
    let operation: Operation
    let isLayered: Bool
    var (isLetIn, isOnStack, hasStarted, isFinished) = (false, false, false, false)
    var (isPausing, isQuiet, hasCompletion, isReviewed) = (false, false, false, false)
    /// The calls of its body that have released the slot, and the one that waits for it.
    var calls: [SlotRelease] = []
    var waiting: AsyncWait?
    var placement: Placement
    init(_ operation: Operation) {
      self.operation = operation
      isLayered = operation is Layered
      placement = operation.placement
    }
    var member: Member { Member(operation) }
  }

  private var machine: QueueMachine { didSet { noteMoves() } }
  private var random: SplitMix64
  private var items: [Item] = []
  private var steps: [SchedulerState.Step] = []
  private var isSuspended = false
  private(set) var idleCount = 0
  /// The moves that were seen between two events.
  private(set) var moves: Set<Move> = []

  init(seed: UInt64) {
    random = SplitMix64(seed: seed)
    machine = QueueMachine(limit: Int.random(in: 1...3, using: &random))
  }

  private mutating func chance(_ percent: Int) -> Bool {
    Int.random(in: 0..<100, using: &random) < percent
  }

  /// How many closures were taken as they are, how many of them ran so, and how many of those have
  /// become operations meanwhile.
  private(set) var (closureCount, runCount, endCount) = (0, 0, 0)
  private var addsClosures = false

  private var openItems: [Item] { items.filter { $0.operation.has(.isMember) || !$0.isLetIn } }

  private mutating func noteMoves() {
    for item in items where item.placement != item.operation.placement {
      // One event may both end an operation and let it leave.
      if item.operation.placement == .gone, item.placement != .ending {
        moves.insert(Move(from: item.placement, to: .ending))
        item.placement = .ending
      }
      moves.insert(Move(from: item.placement, to: item.operation.placement))
      item.placement = item.operation.placement
    }
  }

  // MARK: Events

  private mutating func add() {
    let kind = Int.random(in: 0..<4, using: &random)
    let operation: Operation =
      switch kind {
      case 0: BlockOperation {}
      case 1: Operation()
      default: QueueMachine.layered(isHeld: chance(50))
      }
    let item = Item(operation)
    if chance(30) { operation.readiness.step { $0.dependencyAdded() } }
    if item.isLayered {
      let isAsked = chance(70)
      operation.withLinks { $0.isAskedAtStart = isAsked }
    }
    machine.state.memberAdded(item.member, owner: machine.owner)
    items.append(item)
  }

  /// As a closure if the queue takes one, and as an operation otherwise.
  private mutating func addClosure() {
    if machine.state.closureAdded(.init {}, owner: machine.owner) {
      closureCount += 1
    } else {
      add()
    }
  }

  /// Something looks at the queue: what was added as a closure is an operation from now on.
  private mutating func look() {
    _ = machine.state.operations()
    meet()
    #expect(machine.state.closures.count == 0)
  }

  /// Notes the operations that closures have become.
  private mutating func meet() {
    for operation in machine.state.members.operations
    where !items.contains(where: { $0.operation === operation }) {
      let item = Item(operation)
      item.isLetIn = true
      item.isOnStack = operation.isExecuting
      item.hasStarted = operation.isExecuting
      items.append(item)
    }
  }

  private mutating func letIn(_ item: Item) {
    if item.isLetIn { return }
    item.isLetIn = true
    machine.state.letIn(item.member)
  }

  private mutating func cancel(_ item: Item) {
    if item.isFinished || item.operation.isCancelled { return }
    _ = item.operation.life.step { $0.cancelCalled() }
    if item.hasStarted {
      resume(item, machine.state.cancelledInRelease(item.member))
      #expect(item.waiting == nil)
      return
    }
    item.operation.readiness.step { $0.dropped() }
    machine.state.leavesAhead(item.member)
  }

  private mutating func resolve(_ item: Item) {
    guard item.operation.readiness.current.unfinished > 0 else { return }
    if item.operation.readiness.step({ $0.dependencyResolved() }) != .none {
      machine.state.offered(item.member)
    }
  }

  private mutating func finish(_ item: Item) {
    if item.isFinished { return }
    item.isFinished = true
    item.hasCompletion = chance(20)
    if item.isLayered, chance(20) {
      item.isQuiet = true
    }
    note {
      $0.finished(
        item.member,
        hasCompletion: item.hasCompletion,
        isHeldUntilIdle: item.isQuiet,
        &$1
      )
    }
  }

  private mutating func afterFinish(_ item: Item) {
    guard item.isFinished else { return }
    if item.isQuiet {
      item.isQuiet = false
      note { $0.idleHold(item.member, isHeld: false, &$1) }
    } else if item.hasCompletion {
      item.hasCompletion = false
      note { $0.completionReturned(item.member, &$1) }
    }
  }

  private mutating func pause(_ item: Item) {
    guard item.isLayered, item.hasStarted, !item.isFinished, !item.operation.isCancelled else {
      return
    }
    if !item.isPausing {
      item.isPausing = true
      resume(item, machine.state.pauseBegan(item.member))
    } else if chance(50) {
      machine.state.pauseEnded(item.member)
    } else {
      machine.state.turnAbandoned(item.member)
    }
  }

  /// Code of the body releases the slot, or wants to have it again.
  private mutating func release(_ item: Item) {
    // A closure that isn't async has become an operation.
    guard item.hasStarted, !(item.operation is BlockOperation) else { return }
    if item.calls.isEmpty || item.calls.count < 3 && chance(40) {
      guard let (release, resumed) = machine.state.releaseBegan(item.member) else { return }
      releaseCount += 1
      item.calls.append(release)
      resume(item, resumed)
      #expect(item.waiting == nil && !item.operation.has(.holdsSlot))
    } else {
      let call = item.calls.remove(at: Int.random(in: 0..<item.calls.count, using: &random))
      let wait = AsyncWait()
      guard machine.state.releaseEnded(item.member, call, waitingWith: wait) else { return }
      #expect(item.waiting == nil && call.callCount == 0)
      item.waiting = wait
    }
  }

  /// A call doesn't wait any more; nil for none.
  private func resume(_ item: Item, _ wait: AsyncWait?) {
    guard let wait else { return }
    #expect(item.waiting === wait)
    item.waiting = nil
  }

  /// How often a slot was released.
  private(set) var releaseCount = 0

  // MARK: Workers

  private mutating func note(
    _ body: (inout SchedulerState, inout SchedulerState.Effects) -> Void
  ) {
    var effects = SchedulerState.Effects()
    body(&machine.state, &effects)
    noteOver(effects)
    if effects.idle != nil {
      idleCount += 1
      #expect(machine.state.isIdle)
    }
  }

  private func noteOver(_ effects: SchedulerState.Effects) {
    guard case .isOver(let wait) = effects.pause else { return }
    #expect(items.contains { $0.waiting === wait })
    for item in items where item.waiting === wait { item.waiting = nil }
  }

  private mutating func work(_ report: SchedulerState.Report = .init(.began)) {
    var effects = SchedulerState.Effects()
    let step = machine.next(report, &effects)
    noteOver(effects)
    if effects.idle != nil { idleCount += 1 }
    switch step {
    case .leave, .linger: return
    case .run:
      #expect(effects.closure != nil)
      runCount += 1
    case .end(let member):
      #expect(member.operation.isExecuting && member.operation.has(.holdsSlot))
      endCount += 1
    case .start(let member, let terms):
      #expect(member.operation.placement == .started)
      if case .ahead = terms {} else { #expect(member.operation.has(.holdsSlot)) }
      item(member).isOnStack = true
    case .evaluate, .barrier: break
    }
    steps.append(step)
  }

  private mutating func item(_ member: Member) -> Item {
    meet()
    guard let item = items.first(where: { $0.member == member }) else {
      fatalError("a step is about an operation that was never added")
    }
    return item
  }

  /// A worker has done what it was to do.
  private mutating func report() {
    guard let index = steps.indices.randomElement(using: &random) else { return work() }
    switch steps.remove(at: index) {
    case .leave, .linger: break
    case .run(let number): work(.init(.closureReturned(number)))
    case .end(let member):
      let item = item(member)
      item.isOnStack = false
      item.operation.life.step { $0.mainReturnedForGood() }
      item.isFinished = true
      item.hasCompletion = chance(20)
      work(.init(.ended(hasCompletion: item.hasCompletion), of: item.operation))
    case .barrier: work(.init(.barrierReturned))
    case .evaluate(let operation):
      let isHeld = operation.readiness.current.isHeld
      let readiness = LayerReadiness.released(leavesAhead: chance(20))
      work(isHeld ? .init(.asked, of: operation, readiness: readiness) : .init(.asked))
    case .start(let member, let terms): started(item(member), terms)
    }
  }

  private mutating func started(_ item: Item, _ terms: SchedulerState.Terms) {
    item.isOnStack = false
    let isLeaving = item.operation.isCancelled || item.isFinished
    let isHeldBack = item.operation.readiness.current.progress == .none && !item.hasStarted
    if case .ahead = terms {
      if !item.isFinished { finish(item) }
      return work(.init(.leftAhead(isEnd: false), of: item.operation))
    }
    if isHeldBack, !isLeaving { return work(.init(.gotDependency, of: item.operation)) }
    if case .asked = terms, !isLeaving {
      if chance(30) { return work(.init(.parked, of: item.operation)) }
    }
    if case .known = terms, !isLeaving {
      item.isFinished = true
      item.hasCompletion = chance(20)
      return work(.init(.ended(hasCompletion: item.hasCompletion), of: item.operation))
    }
    if item.hasStarted {
      switch machine.state.wentOn(item.member) {
      case .layer: item.isPausing = false
      case .body(let wait):
        resume(item, wait)
        #expect(item.waiting == nil)
      case .nothing: break
      }
    }
    item.hasStarted = true
    if !isLeaving, chance(20) { release(item) }
    if isLeaving, !item.isFinished { finish(item) }
    work(.init(.startReturned(isEnd: false), of: item.operation))
  }

  // MARK: The walk

  private mutating func step() {
    let event = Int.random(in: 0..<19, using: &random)
    guard event > 1, let item = openItems.randomElement(using: &random) else {
      if addsClosures, chance(90) {
        addClosure()
      } else if openItems.count < 8 {
        add()
      }
      if addsClosures, chance(20) { report() }
      return
    }
    switch event {
    case 2, 3: letIn(item)
    case 4: if chance(30) { cancel(item) }
    case 5: resolve(item)
    case 6:
      let isRare = item.member.operation.placement == .evaluating
      if isRare || chance(30), !(item.operation is BlockOperation) { finish(item) }
    case 7: afterFinish(item)
    case 8, 9: pause(item)
    case 10: machine.state.reoffered(item.member)
    case 11: if item.isLayered, machine.state.reserved(item.member), chance(10) { finish(item) }
    case 12:
      // Half of them while a worker asks whether the operation may start.
      let asked = items.filter { $0.isOnStack }.randomElement(using: &random)
      let item = chance(50) ? asked ?? item : item
      if !item.hasStarted, !item.isFinished, chance(30) {
        item.operation.readiness.step { $0.dependencyAdded() }
      }
    case 13:
      isSuspended.toggle()
      machine.state.suspended(isSuspended)
    case 14:
      if chance(20) {
        _ = machine.state.barrierAdded({}, owner: machine.owner)
      } else {
        // Not by its property, which would notify the scheduler of the owner.
        let priority = Operation.QueuePriority.allCases.randomElement(using: &random)
        item.operation.withLinks { $0.priority = priority ?? .normal }
        machine.state.priorityChanged(item.member)
      }
    case 15: if chance(20) { look() }
    case 16, 17: release(item)
    default: machine.state.limited(Int.random(in: 0...3, using: &random))
    }
    for _ in 0..<Int.random(in: 0...2, using: &random) { report() }
  }

  private mutating func check() {
    meet()
    let holders = items.count { $0.operation.has(.holdsSlot) } + machine.state.closures.runningCount
    #expect(machine.state.slotsInUse == holders + (machine.state.isBarrierRunning ? 1 : 0))
    #expect(machine.state.members.count == 0 || machine.state.closures.count == 0)
    for item in items where item.operation.has(.isMember) {
      #expect(item.operation.scheduling.isFinished == item.isFinished)
      let release = machine.state.releases[ObjectIdentifier(item.operation)]
      #expect(item.operation.has(.hasReleasedSlot) == (release != nil))
      if let release, release.callCount > 0 { #expect(!item.operation.has(.holdsSlot)) }
    }
  }

  /// Random events, and then all that brings everything to its end.
  mutating func run(_ count: Int, addsClosures: Bool = false) {
    self.addsClosures = addsClosures
    for _ in 0..<count {
      step()
      check()
    }
    machine.state.suspended(false)
    machine.state.limited(-1)
    var rounds = 0
    while !machine.state.isIdle, rounds < 1_000 {
      rounds += 1
      for item in openItems {
        letIn(item)
        while item.operation.readiness.current.unfinished > 0 { resolve(item) }
        machine.state.reoffered(item.member)
        if item.isPausing { machine.state.pauseEnded(item.member) }
        while !item.calls.isEmpty, rounds > 2 { release(item) }
        if item.hasStarted, !item.isPausing, item.waiting == nil { finish(item) }
        afterFinish(item)
      }
      work()
      while !steps.isEmpty { report() }
      check()
    }
    let open = openItems.map { "\($0.operation): \($0.operation.placement)" }
    #expect(machine.state.isIdle, "\(open)")
    #expect(machine.state.slotsInUse == 0)
    #expect(openItems.isEmpty)
    #expect(machine.state.releases.isEmpty)
    #expect(items.allSatisfy { $0.waiting == nil })
  }
}

@Suite struct `A queue's state under random events` {
  @Test(arguments: Effort.seeds(60))
  func `a queue's state counts its slots and lets every member finish`(seed: UInt64) {
    var walk = Walk(seed: seed)
    walk.run(400)
    #expect(walk.idleCount > 0)
  }

  @Test(arguments: Effort.seeds(60))
  func `a queue's state stays correct when closures become operations`(seed: UInt64) {
    var walk = Walk(seed: seed)
    walk.run(400, addsClosures: true)
    #expect(walk.idleCount > 0)
  }

  @Test func `closures finish both as closures and as operations`() {
    var (added, runs, ends) = (0, 0, 0)
    for seed in Effort.seeds(50) {
      var walk = Walk(seed: seed)
      walk.run(400, addsClosures: true)
      added += walk.closureCount
      runs += walk.runCount
      ends += walk.endCount
    }
    #expect(0 < ends && ends < runs && runs < added)
  }

  @Test func `random walks take every transition that the table allows`() {
    var moves: Set<Move> = []
    var releaseCount = 0
    for seed in 1000..<1200 as Range<UInt64> {
      var walk = Walk(seed: seed)
      walk.run(400)
      moves.formUnion(walk.moves)
      releaseCount += walk.releaseCount
    }
    #expect(releaseCount > 1_000)
    let allowed = Placement.allCases.flatMap { old in
      Placement.allCases.filter { old.mayBecome($0) }.map { Move(from: old, to: $0) }
    }
    #expect(Set(allowed).subtracting(moves).map { "\($0)" }.sorted() == [])
  }
}
