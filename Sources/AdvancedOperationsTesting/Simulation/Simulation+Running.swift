import AdvancedOperations
import CoreOperations

extension Simulation {
  /// The call that takes all steps.
  static let wholeRun = "run()"

  /// The call that takes the steps of a run between two restarts.
  static let restartRun = "exploreRestarts"
  /// The call that takes one step.
  static let singleStep = "step()"

  /// The reason for the end of a run.
  enum RunEnd {
    /// The condition was true.
    case enough
    /// The simulation has no pending step and no timer, or none that is due before the given time.
    case idle
    /// The task that ran the simulation is cancelled, and steps or timers are left.
    case cancelled
  }

  /// Takes steps.
  ///
  /// - Parameters:
  ///   - time: The time at which the run stops. If it is nil or the end of time, the run stops when
  ///     nothing can happen any more.
  ///   - call: The name of the call.
  ///   - isEnough: Called before each step; the run ends if it returns true.
  /// - Returns: The reason for the end of the run.
  @discardableResult
  func run(until time: Duration?, call: String, _ isEnough: () -> Bool) -> RunEnd {
    let outer = begin(call)
    defer { end(outer) }
    let guarded = RealTimeWatchdog.begin(self, call: call)
    defer { guarded.end() }
    // A timer may be due now, even if the given time has passed.
    let end = time.flatMap { $0 >= .longest ? nil : max($0, now) }
    return unsafe withUnsafeCurrentTask { task in
      while true {
        lookForReady()
        if isEnough() { return .enough }
        if unsafe task?.isCancelled == true, isCutShort(call) { return .cancelled }
        switch next(atMost: end) {
        case .step(let step): take(step)
        case .time: break
        case .nothing:
          checkConsistency()
          return .idle
        }
      }
    }
  }

  /// Traps if the state of an operation contradicts itself when nothing can happen any more.
  private func checkConsistency() {
    #if DEBUG
    for watched in withState({ $0.names.operations }) {
      guard let operation = watched.operation as? AdvancedOperation,
        let contradiction = operation.contradiction
      else { continue }
      internalError("“\(watched.name)” is \(contradiction)")
    }
    #endif
  }

  func stepOnce() -> Bool {
    let outer = begin(Self.singleStep)
    defer { end(outer) }
    let guarded = RealTimeWatchdog.begin(self, call: Self.singleStep)
    defer { guarded.end() }
    return unsafe withUnsafeCurrentTask { task in
      while true {
        lookForReady()
        if unsafe task?.isCancelled == true, isCutShort(Self.singleStep) { return false }
        switch next(atMost: nil) {
        case .step(let step):
          take(step)
          lookForReady()
          return true
        case .time: break
        case .nothing: return false
        }
      }
    }
  }

  /// Reports once that steps or timers are left, because the task that runs the simulation is
  /// cancelled.
  ///
  /// - Returns: Whether steps or timers are left.
  private func isCutShort(_ call: String) -> Bool {
    let (isLeft, isFirst) = withState { state in
      if state.steps.isEmpty, state.alarms.isEmpty { return (false, false) }
      defer { state.watched.wasCancelled = true }
      return (true, !state.watched.wasCancelled)
    }
    if isFirst { RealTimeWatchdog.report(sentence(aboutCancelled: call)) }
    return isLeft
  }

  /// The simulation whose steps the thread takes.
  private static let own = ThreadLocal<Simulation>()

  /// Begins a call that takes steps; returns the simulation whose steps the thread was taking.
  private func begin(_ call: String) -> Simulation? {
    let other = withState { state -> String? in
      if let other = state.runningCall { return other }
      // The actions of the test since the last run are unknown, but follow from the earlier
      // history.
      state.history.add("run")
      state.runningCall = call
      state.watched.runCount += 1
      state.watched.isEntered = false
      state.lastCall = call
      return nil
    }
    if let other { trap(sentence(about: call, during: other)) }
    defer { Self.own.value = self }
    return Self.own.value
  }

  private func sentence(about call: String, during other: String) -> String {
    let world = "SimulatedEnvironment(seed: \(seed))"
    if StepContext.isStep(of: self) {
      return "\(call) of \(world) was called from a step of the same simulation, which \(other) "
        + "takes. Add the action with addStep(_:_:), or await it."
    }
    if Self.own.value === self {
      return "\(call) of \(world) was called from the condition of its \(other). "
        + "A condition can't run the simulation: call \(call) when \(other) has returned."
    }
    return "\(call) of \(world) was called while its \(other) takes steps on another thread. "
      + "One thread at a time runs a simulation; call one after the other has returned."
  }

  private func end(_ outer: Simulation?) {
    Self.own.value = outer
    let mustEnter = withState { state in
      state.runningCall = nil
      state.isInInternalStep = false
      return state.entersWatchdog()
    }
    if mustEnter { RealTimeWatchdog.stepsArePending(in: self) }
  }

  /// Checks whether a run was ended because its task was cancelled, or the task is cancelled now.
  ///
  /// - Throws: `CancellationError` if the task was cancelled, or is cancelled.
  func checkNotCancelled() throws {
    if withState({ $0.watched.wasCancelled }) || isCallerCancelled { throw CancellationError() }
  }

  /// The next event of a run.
  fileprivate enum Next {
    case step(Step)
    /// Time has moved, or timers are due.
    case time
    case nothing
  }

  private func next(atMost end: Duration?) -> Next {
    let (wantsKey, names) = withState { ($0.wantsFingerprint, $0.names.isFull ? $0.names : nil) }
    let key = wantsKey ? fingerprint() : nil
    if let released = names?.released { withState { $0.names.forget(released) } }
    return withState { state in
      if let key { state.isDiverted = state.chooser.reached(key) }
      return state.next(atMost: end)
    }
  }

  private func take(_ step: Step) {
    progress.began(step.name)
    defer { progress.ended() }
    #if DEBUG
    if isPreemptive {
      takeInterruptibly(step)
      return
    }
    #endif
    StepContext.run(in: self, subject: step.subject, task: step.task) { perform(step.work) }
  }

  func perform(_ work: Step.Work) {
    switch work {
    case .work(let body): body()
    case .job(let job, let executor):
      unsafe job.runSynchronously(on: executor.asUnownedTaskExecutor())
    case .timer(let timer): timer.fire()
    #if DEBUG
    case .resume: internalError("an interrupted step was begun again")
    #endif
    }
  }

  // MARK: Remaining steps and operations

  /// Whether there is neither a pending step nor a timer that will be due.
  var isIdle: Bool { withState { $0.steps.isEmpty && $0.alarms.isEmpty } }

  var strays: [StrayOperation] { strays(among: nil) }

  /// Returns the operations that have left the simulation, in the order in which it has seen them.
  ///
  /// - Parameter operations: The operations to check; nil for all operations.
  /// - Returns: The strays; none as long as a step or a timer is pending.
  func strays(among operations: [Operation]?) -> [StrayOperation] {
    guard isIdle else { return [] }
    let numbers = operations.map { Set($0.map(ObjectIdentifier.init)) }
    return withState { $0.names.operations }.compactMap { watched in
      if let numbers {
        guard let operation = watched.operation, numbers.contains(ObjectIdentifier(operation))
        else { return nil }
      }
      return watched.stray(unless: { isHeldByTest($0) }, because: { reason(forStaying: $0) })
    }
  }

  /// The unfinished operations of the simulation's queues.
  var unfinished: [Operation] {
    withState { $0.names.queues }.flatMap { $0.unfinishedMembers }
  }
}

extension Simulation.State {
  var wantsFingerprint: Bool { !isDiverted && chooser.wantsFingerprints }

  private mutating func choose(among count: Int, _ candidate: (Int) -> Candidate) -> Int {
    if !isDiverted { chooser.willChoose(after: log.fingerprint) }
    let index = isDiverted ? 0 : chooser.choose(among: count, candidate)
    note(Choice(index: index, count: count))
    return index
  }

  fileprivate mutating func next(atMost end: Duration?) -> Simulation.Next {
    if let stepLimit, takenCount >= stepLimit, !steps.isEmpty || !alarms.isEmpty {
      hasReachedLimit = true
      return .nothing
    }
    guard mayTimeMove else { return .step(pick()) }
    if steps.isEmpty || isTimerDue(atMost: end) { return moveTime(atMost: end) ? .time : .nothing }
    // If the run ends at a time, the next run may take the remaining steps.
    guard end != nil || !alarms.isEmpty else { return .step(pick()) }
    let count = steps.count + 1
    let choice = chooseStepOrTime()
    if choice < steps.count { return .step(remove(choice, choice: choice, of: count)) }
    note("time moves on (\(count) of \(count))")
    // After this choice, the order of the steps doesn't determine the times at which they are
    // taken.
    history.add(StepKind.time.rawValue)
    return moveTime(atMost: end) ? .time : .nothing
  }

  /// Chooses a step or a move of time.
  ///
  /// Time is the last candidate. A run that always takes the first candidate therefore ends, even
  /// if there is always a timer.
  private mutating func chooseStepOrTime() -> Int {
    let (steps, rounds) = (steps, roundCount)
    return choose(among: steps.count + 1) {
      $0 < steps.count ? Candidate(steps[$0], after: rounds) : .time
    }
  }

  private mutating func pick() -> Simulation.Step {
    let left = takeResting()
    let count = steps.count - (left == nil ? 0 : 1)
    let choice = count > 1 ? chooseStep(among: count, leaving: left) : 0
    return remove(Self.index(of: choice, leaving: left), choice: choice, of: count)
  }

  /// Returns the index of the step that was just interrupted, and that would only be resumed; nil
  /// if there is none.
  private mutating func takeResting() -> Int? {
    #if DEBUG
    if let thread = resting.take(), steps.count > 1 {
      return steps.lastIndex { step in
        if case .resume(let other) = step.work { other === thread } else { false }
      }
    }
    #endif
    return nil
  }

  /// Chooses a step.
  ///
  /// This is a separate function, because another reference to the steps would copy them when a
  /// step is removed.
  private mutating func chooseStep(among count: Int, leaving left: Int?) -> Int {
    let (steps, rounds) = (steps, roundCount)
    return choose(among: count) {
      Candidate(steps[Self.index(of: $0, leaving: left)], after: rounds)
    }
  }

  /// Returns the index of a choice among all steps.
  private static func index(of choice: Int, leaving left: Int?) -> Int {
    if let left, choice >= left { choice + 1 } else { choice }
  }

  private mutating func remove(_ index: Int, choice: Int, of count: Int) -> Simulation.Step {
    let step = removeStep(at: index)
    noteStep(step.name, count > 1 ? " (\(choice + 1) of \(count))" : "")
    names.took(step.name, for: step.subject, at: now)
    if !step.isInternal { history.add(step.identity) }
    if step.isYield { roundCount += 1 }
    if step.isAtAnyTime { takenAtAnyTime.append((step.name, now)) }
    isInInternalStep = step.isInternal
    emptySleepCount = 0
    return step
  }

  /// Returns whether a timer is due without moving time.
  private mutating func isTimerDue(atMost end: Duration?) -> Bool {
    let latest = min(now, end ?? now)
    return alarms.nextDeadline().map { $0 <= latest } ?? false
  }

  /// Moves time to the next timer; without a timer before the end, moves time to the end and
  /// returns false.
  private mutating func moveTime(atMost end: Duration?) -> Bool {
    guard let next = alarms.nextDeadline(), end.map({ next <= $0 }) ?? true else {
      if let end { moveTime(to: end.clamped) }
      return false
    }
    moveTime(to: next)
    roundCount += 1
    isInInternalStep = false
    for alarm in alarms.takeDue(at: now) { append(.init(alarm)) }
    return true
  }
}

extension Candidate {
  fileprivate init(_ step: Simulation.Step, after rounds: Int) {
    self.init(kind: step.kind, subject: step.subject.number, age: rounds - step.roundCount)
  }
}
