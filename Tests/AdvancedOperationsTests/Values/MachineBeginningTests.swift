import AdvancedOperations
import AdvancedTestSupport
import Testing

/// The rows of the table before an operation's turn: what each event does in each situation.
@Suite struct `The state machine before the start` {
  @Test(arguments: Place.allCases)
  func `a condition is recorded until enqueueing or after a cancel`(place: Place) {
    let action = place.machine.conditionAdded()
    let isInTime = place == .pending || place.isCancelled
    #expect(action == (isInTime ? .record : .reject(.conditionAddedLate(place.state))))
  }

  @Test(arguments: Place.allCases)
  func `a journal is accepted once until enqueueing or start`(place: Place) {
    let isInTime = place == .pending || place == .pendingCancelled
    for isFirst in [true, false] {
      let action = place.machine.journalAttached(isFirst: isFirst)
      let mistake: OperationStateMachine.Mistake? =
        isInTime ? (isFirst ? nil : .journalAttachedAgain) : .journalAttachedLate(place.state)
      #expect(action == mistake.map { .reject($0) } ?? .record)
    }
  }

  @Test(arguments: [Place.pending, .pendingCancelled])
  func `a queue accepts operations that haven't started`(place: Place) {
    var machine = place.machine
    machine.enqueued()
    #expect(machine.isSubmitted)
    #expect(machine.state == .pending)
    #expect(machine.isCancelled == place.isCancelled)
  }

  @Test(arguments: Place.allCases)
  func `the end of the last dependency begins the evaluation`(place: Place) {
    var machine = place.machine
    let action = machine.dependenciesFinished()
    switch place {
    // After a manual start, the operation is in the next state already.
    case .pending, .enqueued, .evaluating, .evaluatingManually:
      #expect(action == .evaluate)
      #expect(machine.state == .evaluatingConditions)
    // A cancelled operation evaluates nothing.
    case .pendingCancelled, .enqueuedCancelled, .ready, .readyFailed, .readySkipped,
      .readyCancelled, .readyManually, .cancelledManually, .started,
      .startedCancelled, .launched, .launchedCancelled, .finishing, .finishingCancelled,
      .finishingAfterWillFinish, .finished, .finishedWithBody, .finishedCancelled:
      #expect(action == .none)
      #expect(machine.state == place.state)
    }
  }

  @Test(arguments: Place.allCases.filter { ![.pending, .enqueued].contains($0) })
  func `results of conditions apply only during the evaluation`(place: Place) {
    if place.state == .pending { return }
    for (verdict, isMarked, flaws) in Self.verdicts {
      var machine = place.machine
      let action = machine.verdictsArrived(verdict)
      switch place {
      case .evaluating, .evaluatingManually:
        #expect(action == .becomeReady(isMarked: isMarked))
        #expect(machine.state == .ready)
        #expect(machine.isMarked == isMarked)
        #expect(machine.flawNumbers == flaws)
      case .pending, .pendingCancelled, .enqueued, .enqueuedCancelled, .ready, .readyFailed,
        .readySkipped, .readyCancelled, .readyManually, .cancelledManually, .started,
        .startedCancelled, .launched, .launchedCancelled, .finishing, .finishingCancelled,
        .finishingAfterWillFinish, .finished, .finishedWithBody, .finishedCancelled:
        #expect(action == .ignore)
        #expect(machine.state == place.state)
        #expect(machine.flawNumbers == place.machine.flawNumbers)
      }
    }
  }

  @Test(arguments: Place.allCases.filter { $0.state != .evaluatingConditions })
  func `a review marks only operations that neither started nor were cancelled`(place: Place) {
    for (verdict, isMarked, flaws) in Self.verdicts {
      var machine = place.machine
      let before = machine.flawNumbers
      let wasMarked = machine.isMarked
      let action = machine.reviewed(verdict)
      #expect(machine.state == place.state)
      switch place {
      case .pending, .enqueued, .ready, .readyFailed, .readySkipped, .readyManually:
        #expect(action == .becomeReady(isMarked: isMarked || wasMarked))
        #expect(machine.flawNumbers == before + flaws)
      case .pendingCancelled, .enqueuedCancelled, .evaluating, .evaluatingManually, .readyCancelled,
        .cancelledManually, .started, .startedCancelled, .launched, .launchedCancelled, .finishing,
        .finishingCancelled, .finishingAfterWillFinish, .finished, .finishedWithBody,
        .finishedCancelled:
        #expect(action == .ignore)
        #expect(machine.flawNumbers == before)
      }
    }
  }

  private static let verdicts: [(Machine.Verdict, Bool, [Int])] = [
    (.satisfied, false, []),
    (.skipped(reason: "no need"), true, []),
    (.failed([.condition(7), .condition(8)]), true, [7, 8]),
  ]

  // MARK: Started manually

  @Test(arguments: [false, true], [false, true])
  func `a manual start executes directly without conditions and claims`(
    hasConditions: Bool,
    hasClaims: Bool
  ) {
    var machine = Place.pending.machine
    let action = machine.startedManually(
      hasConditions: hasConditions,
      hasClaims: hasClaims,
      dependenciesAreFinished: true
    )
    #expect(action == (hasConditions || hasClaims ? .enqueue : .run))
    #expect(machine.state == (hasConditions ? .evaluatingConditions : .ready))
    #expect(machine.isSubmitted)
  }

  @Test(arguments: [false, true], [false, true])
  func `a manual start of a cancelled operation evaluates and awaits nothing`(
    hasConditions: Bool,
    dependenciesAreFinished: Bool
  ) {
    var machine = Place.pendingCancelled.machine
    let action = machine.startedManually(
      hasConditions: hasConditions,
      hasClaims: true,
      dependenciesAreFinished: dependenciesAreFinished
    )
    #expect(action == .run)
    #expect(machine.state == .ready)
  }

  @Test func `a manual start before dependencies have finished is a mistake`() {
    var machine = Place.pending.machine
    let action = machine.startedManually(
      hasConditions: false,
      hasClaims: false,
      dependenciesAreFinished: false
    )
    #expect(action == .reject(.startedBeforeReady))
    #expect(machine.state == .pending)
    #expect(!machine.isSubmitted)
  }

  @Test(arguments: Place.allCases.filter { ![.pending, .pendingCancelled].contains($0) })
  func `a manual start is possible once outside of a queue and ignored after the end`(
    place: Place
  ) {
    var machine = place.machine
    let action = machine.startedManually(
      hasConditions: false,
      hasClaims: false,
      dependenciesAreFinished: true
    )
    #expect(action == (place.state == .finished ? .ignore : .reject(.startedAgain(place.state))))
    #expect(machine.state == place.state)
  }
}
