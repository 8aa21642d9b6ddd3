import AdvancedOperations
import AdvancedTestSupport
import Testing

/// The row *cancel* of the table, under both policies.
@Suite struct `The state machine at a cancel` {
  @Test(arguments: Place.allCases, [false, true])
  func `the state machine answers a cancel as the table says`(place: Place, waitsForBody: Bool) {
    var machine = place.machine
    let before = machine.flawNumbers
    let action = machine.cancelCalled(
      reason: .reason(5),
      policy: waitsForBody ? .whenFinishIsCalled : .finishImmediately
    )
    let expected: Machine.CancelAction
    let state: AdvancedOperation.State
    switch place {
    case .finishing, .finishingCancelled, .finishingAfterWillFinish, .finished, .finishedWithBody,
      .finishedCancelled:
      (expected, state) = (.ignore, place.state)
    case .pendingCancelled, .enqueuedCancelled, .readyCancelled, .cancelledManually,
      .startedCancelled, .launchedCancelled:
      (expected, state) = (.recorded, place.state)
    case .pending: (expected, state) = (.flag, .pending)
    case .enqueued, .evaluating, .evaluatingManually, .ready, .readyManually, .readyFailed,
      .readySkipped:
      (expected, state) = (.leaveQueue, .ready)
    // Did-start is going to be told: whether to execute is looked at before.
    case .started:
      (expected, state) = waitsForBody ? (.flag, .executing) : (.decided, .finishing)
    case .launched:
      (expected, state) = waitsForBody ? (.stopBody, .executing) : (.decided, .finishing)
    }
    #expect(action == expected)
    #expect(machine.state == state)
    #expect(machine.isCancelled == (place.isCancelled || place.state < .finishing))
    #expect(machine.flawNumbers == (expected == .ignore ? before : before + [5]))
  }

  @Test func `a time limit that passes after a cancel adds no error`() {
    var machine = Place.launchedCancelled.machine
    let before = machine.flawNumbers
    let action = machine.cancelCalled(
      reason: .init(origin: .timeout, error: Flaw(7)),
      policy: .whenFinishIsCalled
    )
    #expect(action == .ignore)
    #expect(machine.flawNumbers == before)
  }

  @Test(arguments: Place.allCases)
  func `a cancel without a reason adds no error`(place: Place) {
    var machine = place.machine
    let before = machine.flawNumbers
    _ = machine.cancelCalled(reason: nil, policy: .finishImmediately)
    #expect(machine.flawNumbers == before)
  }

  @Test func `the result of a condition after a cancel is ignored`() {
    var machine = Place.evaluating.machine
    let cancel = machine.cancelCalled(reason: nil, policy: .finishImmediately)
    let verdict = machine.verdictsArrived(.failed([.condition(1)]))
    let turn = machine.turnCame()
    #expect(cancel == .leaveQueue)
    #expect(verdict == .ignore)
    #expect(turn == .decided)
    #expect(machine.elements.isEmpty)
    #expect(machine.outcome?.kind == .cancelled)
  }

  @Test func `a finish after a cancel that finished the operation is ignored`() {
    var machine = Place.launched.machine
    let cancel = machine.cancelCalled(reason: .reason(1), policy: .finishImmediately)
    let finish = machine.decide([.body(2)])
    #expect(cancel == .decided)
    #expect(finish == .ignore)
    #expect(machine.flawNumbers == [1])
  }

  /// Whatever comes in whatever order: forward only, one outcome, and flag and outcome agree.
  @Test(arguments: 1...200)
  func `the state machine keeps its promises under any sequence of events`(seed: UInt64) {
    var random = Random(seed)
    for _ in 0..<20 {
      var machine = Machine()
      var bodies = 0
      if random.next() % 4 > 0 { machine.enqueued() }
      for _ in 0..<24 {
        let (state, outcome, flaws) = (machine.state, machine.outcome, machine.flawNumbers)
        Self.apply(Int(random.next() % 10), to: &machine, &bodies)
        #expect(machine.state >= state)
        if let outcome {
          #expect(machine.outcome?.kind == outcome.kind)
          #expect(machine.flawNumbers == flaws)
        }
        #expect((machine.outcome != nil) == (machine.state >= .finishing))
        guard let kind = machine.outcome?.kind else { continue }
        #expect((kind == .cancelled) == machine.isCancelled)
        if kind == .succeeded || kind == .skipped { #expect(machine.elements.isEmpty) }
        if kind == .failed { #expect(!machine.elements.isEmpty) }
      }
    }
  }

  /// One event, if it is one that a caller may make in this state.
  private static func apply(_ event: Int, to machine: inout Machine, _ bodies: inout Int) {
    switch event {
    case 0 where machine.isSubmitted: _ = machine.dependenciesFinished()
    case 1 where machine.state == .evaluatingConditions:
      _ = machine.verdictsArrived(.satisfied)
    case 2 where machine.state == .evaluatingConditions:
      _ = machine.verdictsArrived(.skipped(reason: "no need"))
    case 3 where machine.state == .evaluatingConditions:
      _ = machine.verdictsArrived(.failed([.condition(1)]))
    case 4: _ = machine.turnCame()
    case 5 where machine.state == .executing && bodies == 0:
      if machine.launchDue() == .execute { bodies += 1 }
    case 6: _ = machine.decide([])
    case 7: _ = machine.cancelCalled(reason: .reason(2), policy: .finishImmediately)
    case 8 where machine.phase == .notifyingWillFinish: machine.willFinishNotified()
    case 9 where machine.phase == .notifyingDidFinish: machine.didFinishNotified()
    default: return
    }
  }
}
