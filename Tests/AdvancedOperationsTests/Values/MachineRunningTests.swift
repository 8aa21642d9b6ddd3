import AdvancedOperations
import AdvancedTestSupport
import Testing

/// The rows of the table from the turn to the end.
@Suite struct `The state machine from the start to the end` {
  @Test(arguments: Place.allCases)
  func `a scheduled operation starts, or finishes if it is marked or cancelled`(place: Place) {
    var machine = place.machine
    let action = machine.turnCame()
    switch place {
    case .pending, .enqueued, .ready, .readyManually:
      #expect(action == .begin)
      #expect(machine.state == .executing)
      #expect(machine.outcome == nil)
    case .pendingCancelled, .enqueuedCancelled, .readyCancelled, .cancelledManually:
      #expect(action == .decided)
      #expect(machine.state == .finishing)
      #expect(machine.outcome?.kind == .cancelled)
    case .readyFailed:
      #expect(action == .decided)
      #expect(machine.outcome?.kind == .failed)
    case .readySkipped:
      #expect(action == .decided)
      #expect(machine.outcome?.kind == .skipped)
    case .evaluating, .evaluatingManually, .started, .startedCancelled, .launched,
      .launchedCancelled, .finishing, .finishingCancelled, .finishingAfterWillFinish, .finished,
      .finishedWithBody, .finishedCancelled:
      #expect(action == .reject(.startedAgain(place.state)))
      #expect(machine.state == place.state)
    }
  }

  @Test(arguments: Place.allCases.filter { $0.state >= .executing && !$0.isLaunched })
  func `the state machine checks for a cancel again before didStart`(place: Place) {
    var machine = place.machine
    let action = machine.launchDue()
    switch place.state {
    case .executing:
      #expect(action == (place.isCancelled ? .decided : .execute))
      #expect(machine.state == (place.isCancelled ? .finishing : .executing))
    case .finishing, .finished:
      #expect(action == .none)
      #expect(machine.state == place.state)
    case .pending, .evaluatingConditions, .ready: Issue.record("not looked at in \(place)")
    }
  }

  @Test func `an operation that is cancelled before didStart ends as cancelled`() {
    var machine = Place.startedCancelled.machine
    let action = machine.launchDue()
    #expect(action == .decided)
    #expect(machine.outcome?.kind == .cancelled)
    #expect(!machine.hasStarted)
  }

  @Test(arguments: [AdvancedOperation.CancellationPolicy.finishImmediately, .whenFinishIsCalled])
  func `a cancel after the launch leaves the body due`(policy: AdvancedOperation.CancellationPolicy)
  {
    var machine = Place.launched.machine
    _ = machine.cancelCalled(reason: nil, policy: policy)
    #expect(machine.isBodyDue && machine.hasStarted)
  }

  @Test func `a finish after the launch ends the operation without its body`() {
    var machine = Place.launched.machine
    _ = machine.decide([])
    #expect(!machine.isBodyDue && machine.hasStarted)
  }

  @Test(arguments: Place.allCases)
  func `finish ends an executing operation and is a mistake before`(place: Place) {
    var machine = place.machine
    let before = machine.flawNumbers
    let action = machine.decide([.body(9)])
    switch place.state {
    case .pending, .evaluatingConditions, .ready:
      #expect(
        action == (place.isCancelled ? .ignore : .reject(.finishBeforeExecuting(place.state)))
      )
      #expect(machine.state == place.state)
      #expect(machine.flawNumbers == before)
    case .executing:
      #expect(action == .decided)
      #expect(machine.state == .finishing)
      #expect(machine.flawNumbers == before + [9])
    case .finishing, .finished:
      #expect(action == .ignore)
      #expect(machine.state == place.state)
      #expect(machine.flawNumbers == before)
    }
  }

  @Test func `an operation is finished after didFinish`() {
    var machine = Place.finishingAfterWillFinish.machine
    machine.didFinishNotified()
    #expect(machine.state == .finished)
    #expect(!machine.isIdle, "the one who tells is still at it")
  }

  @Test(arguments: Place.allCases)
  func `an operation may produce from executing until willFinish has returned`(place: Place) {
    let machine = place.machine
    switch place {
    case .started, .startedCancelled, .launched, .launchedCancelled, .finishing,
      .finishingCancelled:
      #expect(machine.mayProduce)
    case .pending, .pendingCancelled, .enqueued, .enqueuedCancelled, .evaluating,
      .evaluatingManually, .ready, .readyFailed, .readySkipped, .readyCancelled, .readyManually,
      .cancelledManually, .finishingAfterWillFinish, .finished, .finishedWithBody,
      .finishedCancelled:
      #expect(!machine.mayProduce)
    }
  }

  // MARK: Finished and idle

  @Test(arguments: Place.allCases)
  func `an operation is idle if it is finished without a running body`(place: Place) {
    let isIdle = place == .finished || place == .finishedCancelled
    #expect(place.machine.isIdle == isIdle)
  }

  @Test func `an operation is idle after the last of its bodies ends`() {
    var machine = Place.launched.machine
    machine.bodyBegan()
    machine.bodyBegan()
    let afterExecute = machine.bodyEnded()
    _ = machine.decide([])
    machine.willFinishNotified()
    machine.didFinishNotified()
    let afterTelling = machine.bodyEnded()
    let afterFirst = machine.bodyEnded()
    let afterLast = machine.bodyEnded()
    #expect([afterExecute, afterTelling, afterFirst, afterLast] == [false, false, false, true])
  }

  @Test func `an operation whose bodies end early is idle after event delivery`() {
    var machine = Place.launched.machine
    _ = machine.decide([])
    let afterExecute = machine.bodyEnded()
    machine.willFinishNotified()
    machine.didFinishNotified()
    let afterTelling = machine.bodyEnded()
    #expect([afterExecute, afterTelling] == [false, true])
  }
}

extension Place {
  fileprivate var isLaunched: Bool { self == .launched || self == .launchedCancelled }
}
