import AdvancedOperations
import CoreOperations

extension Simulation {
  func run(until end: Duration?, _ isEnough: () -> Bool) {
    begin()
    defer { self.end() }
    let guarded = RealTimeWatchdog.begin(self)
    defer { guarded.end() }
    repeat {
      while !isEnough(), let step = pick() { take(step) }
    } while !isEnough() && moveTime(atMost: end)
  }

  func stepOnce() -> Bool {
    begin()
    defer { end() }
    var step = pick()
    if step == nil, moveTime(atMost: nil) { step = pick() }
    guard let step else { return false }
    let guarded = RealTimeWatchdog.begin(self)
    defer { guarded.end() }
    take(step)
    return true
  }

  private func begin() {
    let isNested = withState { state in
      defer { state.isRunning = true }
      // What was done since the last run is unknown, but follows from the history until then.
      state.history.add("run")
      return state.isRunning
    }
    if isNested {
      trap("run(), step() or advance(by:) was called from a step of the same simulation.")
    }
  }

  private func end() { withState { $0.isRunning = false } }

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
    StepContext.run(in: self, subject: step.subject) { perform(step.work) }
  }

  func perform(_ work: Step.Work) {
    #if DEBUG
    DeliberateFlaw.with(withState { $0.flaw }) { performAsIs(work) }
    #else
    performAsIs(work)
    #endif
  }

  private func performAsIs(_ work: Step.Work) {
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
      state.alarms.removeAll { !$0.timer.isPending }
      let next = state.alarms.min { ($0.deadline, $0.number) < ($1.deadline, $1.number) }
      guard let next, end.map({ next.deadline <= $0 }) ?? true else {
        if let end, state.now < end { state.now = end }
        return false
      }
      state.now = max(state.now, next.deadline)
      let due = state.alarms.filter { $0.deadline <= state.now }.sorted { $0.number < $1.number }
      state.alarms.removeAll { $0.deadline <= state.now }
      state.steps += due.map { Step(work: .timer($0.timer), name: $0.name, subject: $0.subject) }
      return true
    }
  }

  // MARK: What is left

  var strays: [StrayOperation] {
    let (isIdle, watched) = withState { state in
      state.alarms.removeAll { !$0.timer.isPending }
      return (state.steps.isEmpty && state.alarms.isEmpty, state.names.operations)
    }
    return isIdle ? watched.compactMap { $0.stray() } : []
  }

  /// Operations of the queues that ran here which have not finished.
  var unfinished: [Operation] {
    let schedulers = withState { $0.names.schedulers }
    return schedulers.flatMap { $0.unfinishedMembers }
  }
}

extension Simulation.State {
  var wantsFingerprint: Bool { !isDiverted && chooser.wantsFingerprints }

  mutating func choose(_ names: [String]) -> Int {
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
