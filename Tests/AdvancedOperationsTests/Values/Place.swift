import AdvancedOperations
import AdvancedTestSupport
import Testing

typealias Machine = OperationStateMachine

/// Every situation that the table of the design tells apart, reached by events alone.
enum Place: CaseIterable, Sendable {
  case pending, pendingCancelled
  case enqueued, enqueuedCancelled
  case evaluating, evaluatingManually
  case ready, readyFailed, readySkipped, readyCancelled
  case readyManually, cancelledManually
  case started, startedCancelled
  case launched, launchedCancelled
  case finishing, finishingCancelled, finishingAfterWillFinish
  case finished, finishedWithBody, finishedCancelled

  var state: AdvancedOperation.State {
    switch self {
    case .pending, .pendingCancelled, .enqueued, .enqueuedCancelled: .pending
    case .evaluating, .evaluatingManually: .evaluatingConditions
    case .ready, .readyFailed, .readySkipped, .readyCancelled, .readyManually, .cancelledManually:
      .ready
    case .started, .startedCancelled, .launched, .launchedCancelled: .executing
    case .finishing, .finishingCancelled, .finishingAfterWillFinish: .finishing
    case .finished, .finishedWithBody, .finishedCancelled: .finished
    }
  }

  var isCancelled: Bool {
    switch self {
    case .pendingCancelled, .enqueuedCancelled, .readyCancelled, .cancelledManually,
      .startedCancelled, .launchedCancelled, .finishingCancelled, .finishedCancelled:
      true
    case .pending, .enqueued, .evaluating, .evaluatingManually, .ready, .readyFailed, .readySkipped,
      .readyManually, .started, .launched, .finishing, .finishingAfterWillFinish, .finished,
      .finishedWithBody:
      false
    }
  }

  var machine: Machine {
    var machine = Machine()
    for step in steps { step(&machine) }
    return machine
  }

  private typealias Step = (inout Machine) -> Void

  private var steps: [Step] {
    let cancel: Step = { _ = $0.cancelCalled(reason: nil, policy: .whenFinishIsCalled) }
    let enqueue: Step = { $0.enqueued() }
    let evaluate: Step = { _ = $0.dependenciesFinished() }
    let satisfied: Step = { _ = $0.verdictsArrived(.satisfied) }
    let start: Step = { _ = $0.turnCame() }
    let launch: Step = { _ = $0.launchDue() }
    let finish: Step = { _ = $0.decide([]) }
    let endBody: Step = { _ = $0.bodyEnded() }
    let tell: Step = { $0.willFinishNotified() }
    let end: Step = {
      $0.didFinishNotified()
      _ = $0.bodyEnded()
    }
    let manualStart: Step = {
      _ = $0.startedManually(
        hasConditions: true,
        hasClaims: true,
        dependenciesAreFinished: true
      )
    }
    switch self {
    case .pending: return []
    case .pendingCancelled: return [cancel]
    case .enqueued: return [enqueue]
    case .enqueuedCancelled: return [cancel, enqueue]
    case .evaluating: return [enqueue, evaluate]
    case .evaluatingManually: return [manualStart]
    case .ready: return [enqueue, evaluate, satisfied]
    case .readyFailed:
      return [enqueue, evaluate, { _ = $0.verdictsArrived(.failed([.condition(1)])) }]
    case .readySkipped:
      return [enqueue, evaluate, { _ = $0.verdictsArrived(.skipped(reason: "no need")) }]
    case .readyCancelled: return [enqueue, cancel]
    case .readyManually: return [manualStart, satisfied]
    case .cancelledManually: return [manualStart, cancel]
    case .started: return [enqueue, start]
    case .startedCancelled: return [enqueue, start, cancel]
    case .launched: return [enqueue, start, launch]
    case .launchedCancelled: return [enqueue, start, launch, cancel]
    case .finishing: return [enqueue, start, launch, finish]
    case .finishingCancelled: return [enqueue, cancel, start]
    case .finishingAfterWillFinish: return [enqueue, start, launch, finish, tell]
    case .finished: return [enqueue, start, launch, finish, endBody, tell, end]
    case .finishedWithBody: return [enqueue, start, launch, finish, tell, end]
    case .finishedCancelled: return [enqueue, cancel, start, tell, end]
    }
  }
}

extension OperationFailure.Element {
  static func condition(_ flaw: Int) -> Self {
    .init(origin: .condition("c\(flaw)"), error: Flaw(flaw))
  }
  static func body(_ flaw: Int) -> Self { .init(origin: .body, error: Flaw(flaw)) }
  static func reason(_ flaw: Int) -> Self { .init(origin: .cancel, error: Flaw(flaw)) }
}

extension OperationStateMachine {
  var flawNumbers: [Int] { flaws(elements.map(\.error)) }
}

@Suite struct `The situations of the table` {
  @Test(arguments: Place.allCases)
  func `each situation of the table is reached as it is named`(place: Place) {
    let machine = place.machine
    #expect(machine.state == place.state)
    #expect(machine.isCancelled == place.isCancelled)
    #expect((machine.outcome != nil) == (place.state >= .finishing))
    #expect(machine.isEndDecided == (place.state >= .finishing))
  }

  @Test func `a new operation is pending and nothing else`() {
    let machine = Machine()
    #expect(machine.state == .pending)
    #expect(!machine.isCancelled)
    #expect(!machine.isSubmitted)
    #expect(!machine.isMarked)
    #expect(machine.elements.isEmpty)
    #expect(machine.notRunCount == 0)
    #expect(machine.outcome == nil)
  }

  @Test func `states are ordered as they are entered`() {
    let states: [AdvancedOperation.State] = [
      .pending, .evaluatingConditions, .ready, .executing, .finishing, .finished,
    ]
    #expect(AdvancedOperation.State.allCases == states)
    #expect(states.sorted() == states)
  }
}
