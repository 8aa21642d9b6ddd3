import Testing

@testable import CoreOperations

/// What each event does to an operation in each place, as a table.
@Suite struct `The state of a queue as a value` {
  /// An event, and where it moves an operation from; everywhere else the operation stays.
  struct Row: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let moves: [Placement: Placement]
    let event: @Sendable (inout QueueMachine, Layered) -> Void

    init(
      _ name: String,
      _ moves: [Placement: Placement],
      _ event: @escaping @Sendable (inout QueueMachine, Layered) -> Void
    ) {
      (testDescription, self.moves, self.event) = (name, moves, event)
    }
  }

  static let rows = [
    Row("let in", [.outside: .ready]) { $0.state.letIn(Member($1)) },
    Row("the last dependency has finished", [.waiting: .ready, .parked: .ready]) {
      if $1.readiness.current.unfinished > 0 {
        _ = $1.readiness.step { $0.dependencyResolved() }
      }
      $0.state.offered(Member($1))
    },
    Row("the hold is released", [.evaluating: .ready]) {
      if $1.placement == .evaluating {
        $0.state.holdReleased(Member($1), leavesAhead: false)
      }
    },
    Row("the hold of one that will not execute is released", [.evaluating: .service]) {
      if $1.placement == .evaluating {
        $0.state.holdReleased(Member($1), leavesAhead: true)
      }
    },
    Row(
      "cancelled",
      [
        .waiting: .service, .behindBarrier: .service, .evaluating: .service, .ready: .service,
        .parked: .service,
      ]
    ) { $0.state.leavesAhead(Member($1)) },
    Row("offered again", [.parked: .ready]) { $0.state.reoffered(Member($1)) },
    Row("given a slot", [.parked: .granted, .started: .granted]) { machine, operation in
      let mayStart = [.parked, .started].contains(operation.placement)
      let isReserved = machine.state.reserved(Member(operation))
      #expect(isReserved == mayStart)
    },
    Row("pauses inside of its start", [:]) { _ = $0.state.pauseBegan(Member($1)) },
    Row("goes on", [.paused: .ready]) { $0.state.pauseEnded(Member($1)) },
    Row("abandons its turn", [:]) { $0.state.turnAbandoned(Member($1)) },
    Row("lets go of what it kept", [.ending: .gone]) {
      var effects = SchedulerState.Effects()
      $0.state.idleHold(Member($1), isHeld: false, &effects)
    },
    Row("another priority", [:]) {
      $1.queuePriority = .veryHigh
      $0.state.priorityChanged(Member($1))
    },
  ]

  @Test(arguments: rows, Placement.allCases)
  func `each event moves an operation as the table says`(_ row: Row, placement: Placement) {
    var machine = QueueMachine()
    let operation = machine.bring(to: placement)
    #expect(operation.placement == placement)
    row.event(&machine, operation)
    #expect(operation.placement == row.moves[placement] ?? placement)
  }

  @Test func `two calls in a body release its slot once, and take it again once`() throws {
    var machine = QueueMachine(limit: 1)
    let operation = machine.bring(to: .started)
    _ = machine.next(.init(.startReturned(isEnd: false), of: operation))
    #expect(machine.state.slotsInUse == 1)
    let (member, wait) = (Member(operation), AsyncWait())
    let firstBegun = machine.state.releaseBegan(member)
    let first = try #require(firstBegun).release
    #expect(machine.state.slotsInUse == 0)
    let secondBegun = machine.state.releaseBegan(member)
    let second = try #require(secondBegun).release
    #expect(machine.state.slotsInUse == 0)
    let firstWaits = machine.state.releaseEnded(member, first, waitingWith: AsyncWait())
    #expect(!firstWaits)
    #expect(operation.placement == .paused)
    let secondWaits = machine.state.releaseEnded(member, second, waitingWith: wait)
    #expect(secondWaits)
    #expect(operation.placement == .ready)
    guard case .start(member, .unasked) = machine.next() else {
      Issue.record("it isn't started without a question")
      return
    }
    #expect(machine.state.slotsInUse == 1)
    guard case .body(let resumed) = machine.state.wentOn(member) else {
      Issue.record("the body doesn't go on")
      return
    }
    #expect(resumed === wait)
    #expect(machine.state.releases.isEmpty)
  }

  @Test func `a slot is free before the worker has reported the start in which it was released`()
    throws
  {
    var machine = QueueMachine(limit: 1)
    let operation = machine.bring(to: .started)
    let (member, next) = (Member(operation), Operation())
    machine.add(next)
    let begun = machine.state.releaseBegan(member)
    let release = try #require(begun).release
    #expect(machine.state.slotsInUse == 0)
    guard case .start(Member(next), _) = machine.next() else {
      Issue.record("the slot isn't free")
      return
    }
    let waits = machine.state.releaseEnded(member, release, waitingWith: AsyncWait())
    #expect(waits)
    _ = machine.next(.init(.startReturned(isEnd: false), of: operation))
    #expect(operation.placement == .ready)
    #expect(machine.state.slotsInUse == 1)
  }

  @Test func `a call that begins when another has its slot in hand releases that`() throws {
    var machine = QueueMachine(limit: 1)
    let operation = machine.bring(to: .started)
    _ = machine.next(.init(.startReturned(isEnd: false), of: operation))
    let (member, wait) = (Member(operation), AsyncWait())
    let firstBegun = machine.state.releaseBegan(member)
    let first = try #require(firstBegun).release
    let firstWaits = machine.state.releaseEnded(member, first, waitingWith: wait)
    #expect(firstWaits)
    _ = machine.next()
    #expect(operation.has(.holdsSlot))
    let secondBegun = machine.state.releaseBegan(member)
    let (second, resumed) = try #require(secondBegun)
    #expect(resumed === wait)
    #expect(machine.state.slotsInUse == 0)
    guard case .nothing = machine.state.wentOn(member) else {
      Issue.record("something goes on although the slot is released")
      return
    }
    let secondWaits = machine.state.releaseEnded(member, second, waitingWith: AsyncWait())
    #expect(secondWaits)
    _ = machine.next(.init(.startReturned(isEnd: false), of: operation))
    // That report was followed by the start of the operation.
    #expect(operation.has(.holdsSlot))
  }

  @Test(arguments: Placement.allCases.filter { ![.ending, .gone].contains($0) })
  func `an end removes an operation with its slot from every place`(placement: Placement) {
    var machine = QueueMachine()
    let operation = machine.bring(to: placement)
    let isOnStack = [.started].contains(placement)
    machine.finish(operation)
    #expect(operation.placement == (isOnStack ? .ending : .gone))
    if isOnStack { _ = machine.next(.init(.startReturned(isEnd: false), of: operation)) }
    #expect(operation.placement == .gone)
    #expect(!operation.has(.isMember))
    #expect(machine.state.slotsInUse == 0)
  }

  @Test func `an operation that leaves during its start is released afterwards`() {
    var machine = QueueMachine()
    // Not of a layer: it leaves when its end is reported, whatever its worker is at.
    let operation = Endless()
    machine.add(operation)
    guard case .start(let member, .asked) = machine.next() else {
      Issue.record("it isn't started")
      return
    }
    #expect(member == Member(operation))
    var effects = SchedulerState.Effects()
    machine.state.finished(member, hasCompletion: false, &effects)
    #expect(effects.garbage == nil)
    #expect(effects.idle != nil)
    #expect(machine.state.isIdle)
    _ = machine.next(.init(.startReturned(isEnd: false), of: operation), &effects)
    #expect(effects.garbage === operation)
  }

  @Test func `a barrier keeps an empty queue busy until it has returned`() {
    var machine = QueueMachine()
    _ = machine.state.barrierAdded({}, owner: machine.owner)
    #expect(!machine.state.isIdle)
    guard case .barrier = machine.next() else {
      Issue.record("it doesn't run")
      return
    }
    #expect(!machine.state.isIdle)
    var effects = SchedulerState.Effects()
    _ = machine.next(.init(.barrierReturned), &effects)
    #expect(effects.idle != nil)
    #expect(machine.state.isIdle)
  }

  @Test func `an operation that gets a dependency at its grant returns the grant`() {
    var machine = QueueMachine()
    let operation = machine.bring(to: .started)
    let isReserved = machine.state.reserved(Member(operation))
    #expect(isReserved)
    operation.readiness.step { $0.dependencyAdded() }
    var effects = SchedulerState.Effects()
    _ = machine.next(.init(.gotDependency, of: operation), &effects)
    #expect(effects.grantToReturn === operation)
    #expect(operation.placement == .waiting)
    #expect(machine.state.slotsInUse == 0)
  }

  private final class Endless: Operation, @unchecked Sendable {
    override func start() {}
  }
}
