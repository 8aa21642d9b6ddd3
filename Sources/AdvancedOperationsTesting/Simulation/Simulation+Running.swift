import AdvancedOperations
import CoreOperations

extension Simulation {
  func run(until end: Duration?, call: String, _ isEnough: () -> Bool) {
    let outer = begin(call)
    defer { self.end(outer) }
    let guarded = RealTimeWatchdog.begin(self)
    defer { guarded.end() }
    repeat {
      while !isEnough(), let step = pick() { take(step) }
    } while !isEnough() && moveTime(atMost: end)
  }

  func stepOnce() -> Bool {
    let outer = begin("step()")
    defer { end(outer) }
    var step = pick()
    if step == nil, moveTime(atMost: nil) { step = pick() }
    guard let step else { return false }
    let guarded = RealTimeWatchdog.begin(self)
    defer { guarded.end() }
    take(step)
    return true
  }

  /// The simulation that the thread takes steps of.
  private static let own = ThreadLocal<Simulation>()

  /// Returns the simulation that the thread has taken steps of until now.
  private func begin(_ call: String) -> Simulation? {
    let other = withState { state -> String? in
      if let other = state.runningCall { return other }
      // What was done since the last run is unknown, but follows from the history until then.
      state.history.add("run")
      state.runningCall = call
      state.watched.runCount += 1
      state.watched.isEntered = false
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
        + "takes. Add what is to happen with addStep(_:_:), or await it."
    }
    if Self.own.value === self {
      return "\(call) of \(world) was called from the condition of its \(other). "
        + "A condition only looks; call \(call) when \(other) has returned."
    }
    return "\(call) of \(world) was called while its \(other) takes steps on another thread. "
      + "One thread at a time runs a simulation; call one after the other has returned."
  }

  private func end(_ outer: Simulation?) {
    Self.own.value = outer
    let mustEnter = withState { state in
      state.runningCall = nil
      return state.entersWatchdog()
    }
    if mustEnter { RealTimeWatchdog.stepsArePending(in: self) }
  }

  /// The next step; nil when none is pending.
  private func pick() -> Step? {
    let key = withState { $0.wantsFingerprint } ? fingerprint() : nil
    return withState { state in
      if let key { state.isDiverted = state.chooser.reached(key) }
      return state.pick()
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
    case .resume: trap("an interrupted step was begun again")
    #endif
    }
  }

  /// Moves time to the next timer; returns whether there was one, or time left to pass.
  private func moveTime(atMost end: Duration?) -> Bool {
    withState { state in
      let next = state.alarms.values.lazy.map(\.deadline).min()
      guard let next, end.map({ next <= $0 }) ?? true else {
        if let end, state.now < end { state.now = end.clamped }
        return false
      }
      state.now = max(state.now, next)
      let due = state.alarms.values.filter { $0.deadline <= state.now }
      for alarm in due { state.alarms[alarm.number] = nil }
      state.steps += due.sorted { $0.number < $1.number }
        .map { Step(work: .timer($0.timer), name: $0.name, subject: $0.subject) }
      return true
    }
  }

  // MARK: What is left

  /// Whether neither a step nor a timer is pending.
  var isIdle: Bool { withState { $0.steps.isEmpty && $0.alarms.isEmpty } }

  var strays: [StrayOperation] {
    guard isIdle else { return [] }
    return withState { $0.names.operations }.compactMap { $0.stray(in: self) }
  }

  /// Operations of the queues that ran here which have not finished.
  var unfinished: [Operation] {
    withState { $0.names.queues }.flatMap { $0.unfinishedMembers }
  }
}

extension Simulation.State {
  var wantsFingerprint: Bool { !isDiverted && chooser.wantsFingerprints }

  mutating func choose(_ names: [String]) -> Int {
    if !isDiverted { chooser.willChoose(after: logPrint) }
    let index = isDiverted ? 0 : chooser.choose(among: names)
    choices.append(Choice(index: index, count: names.count))
    return index
  }

  fileprivate mutating func pick() -> Simulation.Step? {
    guard !steps.isEmpty else { return nil }
    var candidates = Array(steps.indices)
    #if DEBUG
    // One that was interrupted a moment ago would only go on.
    if let resting, steps.count > 1 {
      candidates.removeAll {
        if case .resume(let thread) = steps[$0].work { thread === resting } else { false }
      }
    }
    resting = nil
    #endif
    let choice = candidates.count > 1 ? choose(candidates.map { steps[$0].subject }) : 0
    let step = steps.remove(at: candidates[choice])
    let place = candidates.count > 1 ? " (\(choice + 1) of \(candidates.count))" : ""
    note("step: \(step.name)\(place)")
    names.took(step.name, for: step.subject, at: now)
    if !step.isInternal { history.add(step.name) }
    return step
  }
}
