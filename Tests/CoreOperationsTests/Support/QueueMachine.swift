@testable import CoreOperations

/// What a queue knows, without a queue: a test is the threads and the workers.
struct QueueMachine {
  var state: SchedulerState
  let owner = OperationQueue(executor: ManualExecutor())
  private let source: WorkerSource

  init(limit: Int = -1) {
    source = WorkerSource(ManualExecutor())
    state = SchedulerState(source: source)
    state.keepsClosures = true
    state.limited(limit)
  }

  /// An operation of a layer, which holds its readiness until its conditions are evaluated.
  static func layered(isHeld: Bool = false, unfinished: Int = 0) -> Layered {
    let operation = Layered()
    if isHeld { operation.readiness.step { $0.holdTaken() } }
    for _ in 0..<unfinished { operation.readiness.step { $0.dependencyAdded() } }
    return operation
  }

  /// Makes an operation a member that is let in.
  mutating func add(_ operation: Operation) {
    state.memberAdded(Member(operation), owner: owner)
    state.letIn(Member(operation))
  }

  /// What a worker is to do next, after what it has done.
  mutating func next(_ report: SchedulerState.Report = .init(.began)) -> SchedulerState.Step {
    var effects = SchedulerState.Effects()
    return next(report, &effects)
  }

  mutating func next(
    _ report: SchedulerState.Report = .init(.began),
    _ effects: inout SchedulerState.Effects
  ) -> SchedulerState.Step {
    state.nextStep(after: report, releasing: FewObjects<Operation>(), from: source, &effects)
  }

  mutating func finish(
    _ operation: Operation,
    hasCompletion: Bool = false,
    isHeldUntilIdle: Bool = false
  ) {
    var effects = SchedulerState.Effects()
    state.finished(
      Member(operation),
      hasCompletion: hasCompletion,
      isHeldUntilIdle: isHeldUntilIdle,
      &effects
    )
  }

  /// Makes a new operation a member and brings it to a place.
  mutating func bring(to placement: Placement) -> Layered {
    let operation = Self.layered(
      isHeld: [.service, .evaluating].contains(placement),
      unfinished: placement == .waiting ? 1 : 0
    )
    let member = Member(operation)
    switch placement {
    case .outside: state.memberAdded(member, owner: owner)
    case .waiting, .service, .ready: add(operation)
    case .behindBarrier:
      add(Self.layered())
      _ = state.barrierAdded({}, owner: owner)
      add(operation)
    case .evaluating, .started:
      add(operation)
      _ = next()
    case .parked, .granted:
      add(operation)
      _ = next()
      _ = next(.init(.parked, of: operation))
      if placement == .granted { _ = state.reserved(member) }
    case .paused:
      add(operation)
      _ = next()
      _ = next(.init(.startReturned(isEnd: false), of: operation))
      _ = state.pauseBegan(member)
    case .ending:
      add(operation)
      finish(operation, isHeldUntilIdle: true)
    case .gone:
      add(operation)
      finish(operation, hasCompletion: true)
    }
    return operation
  }
}

extension Operation {
  var placement: Placement { scheduling.placement }

  func has(_ flag: SchedulingFields.Flags) -> Bool { scheduling.flags.contains(flag) }
}
