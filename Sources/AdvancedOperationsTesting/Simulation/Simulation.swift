import AdvancedOperations
import CoreOperations

/// The steps, timers and time of one simulated world.
final class Simulation: Sendable {
  /// Something that could happen next.
  struct Step {
    enum Work {
      case work(@Sendable () -> Void)
      case job(UnownedJob, SimulatedExecutor)
      case timer(OperationTimer)
      #if DEBUG
      /// A step that was interrupted goes on.
      case resume(SimulatedThread)
      #endif
    }

    let work: Work
    let name: String
    /// The operation, queue or code that the step is for.
    let subject: StepSubject
    /// Different for different steps, and the same in each run with the same choices.
    let identity: Fingerprint
    /// Whether no code of a user can tell when the step is taken.
    var isInternal = false
    /// The task that the step is a part of; nil for a step that isn't a part of a task.
    var task: StepTask?
    /// Whether time may move while the step is pending.
    var isAtAnyTime = false
    /// Whether a task only lets others run.
    var isYield = false
    /// The number of rounds when the step was added; see ``State/roundCount``.
    var roundCount = 0

    var kind: Candidate.Kind { isAtAnyTime ? .stepAtAnyTime : isYield ? .yield : .step }
  }

  struct State {
    var chooser: any ScheduleChooser
    var generator: SplitMix64
    private(set) var now = Duration.zero
    private(set) var steps: [Step] = []
    /// How many of the steps keep time from moving.
    private(set) var urgentCount = 0
    /// The timers whose time has not come, by number.
    var alarms = Alarms()
    var alarmCount = 0
    var log = SimulationLog(limit: Simulation.usualLogLimit)
    /// The names of the steps that were taken last, up to three.
    private(set) var lastSteps: [String] = []
    /// The call that takes steps; nil while none does.
    var runningCall: String?
    /// The last call that took steps; nil before the first.
    var lastCall: String?
    /// How many steps were taken.
    var takenCount = 0
    /// How many times a task yielded or time moved: a workflow that polls does one of the two in
    /// each of its rounds.
    var roundCount = 0
    /// The number of steps after which no more are taken; nil for any number.
    var stepLimit: Int?
    /// Whether a step was pending, and was not taken because of the limit.
    var hasReachedLimit = false
    /// The names of the steps that may be taken at any time, and when each was taken.
    var takenAtAnyTime: [(name: String, time: Duration)] = []
    /// The number of sleeps in the step that runs which were over when they began.
    var emptySleepCount = 0
    /// Whether the step that runs is a decision of a queue.
    var isInInternalStep = false
    /// How many of them were taken before time moved for the last time.
    private(set) var countAtLastMove = 0
    var names = StepNames()
    /// Whether choices are recorded; only an exploration reads them.
    let keepsChoices: Bool
    /// Every choice that was made, and among how many.
    var choices: [Choice] = []
    /// The order of all that code of a user can have noticed.
    var history = Fingerprint()
    var isDiverted = false
    var faults: [Fault] = []
    /// Operations that are on their way to ready, where a fault waits for them.
    var targetsAtReady: [FaultTarget] = []
    /// The keys of operations with a journal that have begun to execute.
    var begunKeys: Set<String> = []
    var watchdogInterval = Duration.seconds(10)
    var trapsWhenBlocked = false
    var watched = Watched()
    var interruptionsLeft = 0
    #if DEBUG
    var resting: SimulatedThread?
    #endif

    /// Whether time may move before any of the steps is taken.
    var mayTimeMove: Bool { urgentCount == 0 }

    mutating func append(_ step: Step) {
      var step = step
      step.roundCount = roundCount
      steps.append(step)
      if !step.isAtAnyTime { urgentCount += 1 }
    }

    mutating func removeStep(at index: Int) -> Step {
      let step = steps.remove(at: index)
      if !step.isAtAnyTime { urgentCount -= 1 }
      return step
    }

    /// A step that has a count as a part of its identity, or its timer, was added.
    ///
    /// The count of one that a decision of a queue added depends on when that was.
    mutating func countedStepWasAdded(_ identity: Fingerprint) {
      if isInInternalStep { history.add(identity) }
    }

    mutating func takeSteps() -> [Step] {
      urgentCount = 0
      return exchange(&steps, with: [])
    }

    mutating func note(_ line: String) { log.append("[\(now)] \(line)") }

    mutating func note(_ choice: Choice) { if keepsChoices { choices.append(choice) } }

    /// Notes that a step is taken.
    ///
    /// - Parameters:
    ///   - name: The name of the step.
    ///   - remark: The text behind the name in the log.
    mutating func noteStep(_ name: String, _ remark: String) {
      takenCount += 1
      note("step: \(name)\(remark)")
      if lastSteps.count == 3 { lastSteps.removeFirst() }
      lastSteps.append(name)
    }

    /// Moves time forward; does nothing if it is as late already.
    mutating func moveTime(to time: Duration) {
      guard time > now else { return }
      now = time
      countAtLastMove = takenCount
    }
  }

  let seed: UInt64
  let isPreemptive: Bool
  let claimDomain = ClaimDomain()
  let clockIdentity = ClockIdentity()
  let state: Locked<State>
  /// How many steps were taken, for the watchdog.
  let progress = StepProgress()

  /// The number of lines that a log keeps unless another one is set.
  static let usualLogLimit = 100_000

  /// - Parameters:
  ///   - seed: What chance begins with.
  ///   - chooser: Says what is next.
  ///   - keepsChoices: Whether choices are recorded.
  ///   - interruptions: How often a step may be interrupted; only in debug builds.
  init(
    seed: UInt64,
    chooser: any ScheduleChooser,
    keepsChoices: Bool = false,
    interruptions: Int = 0
  ) {
    self.seed = seed
    isPreemptive = interruptions > 0
    var state = State(
      chooser: chooser,
      generator: SplitMix64(seed: ~seed),
      keepsChoices: keepsChoices
    )
    state.interruptionsLeft = interruptions
    self.state = Locked(state)
  }

  /// Reaches the state, and isn't interrupted meanwhile.
  func withState<Result>(_ body: (inout State) -> Result) -> Result {
    #if DEBUG
    return Preemption.without { state.withLock { body(&$0) } }
    #else
    return state.withLock { body(&$0) }
    #endif
  }

  var now: Duration { withState { $0.now } }
  var log: SimulationLog { withState { $0.log } }
  var pending: [String] { withState { $0.steps.map(\.name) } }
  var choices: [Choice] { withState { $0.choices } }
  var watchdogInterval: Duration {
    get { withState { $0.watchdogInterval } }
    set { withState { $0.watchdogInterval = newValue } }
  }
  var trapsWhenBlocked: Bool {
    get { withState { $0.trapsWhenBlocked } }
    set { withState { $0.trapsWhenBlocked = newValue } }
  }

  func random() -> UInt64 { withState { $0.generator.next() } }
  func note(_ line: String) { withState { $0.note(line) } }

  // MARK: Adding

  func add(_ work: Step.Work, named name: String, atAnyTime: Bool) {
    let place = StepContext.subject(in: self)
    append { state in
      let kind = atAnyTime ? StepKind.addedAtAnyTime : .added
      let identity = state.names.step(kind, of: place)
      let subject = state.names.newSubject(name)
      state.countedStepWasAdded(identity)
      return Step(
        work: work,
        name: subject.name,
        subject: subject,
        identity: identity,
        isAtAnyTime: atAnyTime
      )
    }
  }

  /// Adds something that belongs to whatever is going on where this is called.
  func addPart(_ body: @escaping @Sendable () -> Void) {
    let subject = StepContext.subject(in: self)
    append { state in
      let (identity, name) = state.names.step(.part, "part of \(subject.name)", of: subject)
      state.countedStepWasAdded(identity)
      return Step(work: .work(body), name: name, subject: subject, identity: identity)
    }
  }

  func add(_ step: WorkerStep, _ body: @escaping @Sendable () -> Void) {
    if isAbandoned { return abandonLate(step) }
    let (label, place) = (step.label, step.place)
    append { state in
      let (kind, verb, subject) = state.names.describe(step, label: label, place: place)
      return Step(
        work: .work(body),
        name: "\(verb) \(subject.name)",
        subject: subject,
        identity: Fingerprint(kind, of: subject.number),
        isInternal: kind == .decide
      )
    }
  }

  func add(_ job: UnownedJob, on executor: SimulatedExecutor) {
    let place = StepContext.place(in: self)
    append { state in
      let added = state.names.job("\(job)", addedIn: place)
      state.countedStepWasAdded(added.identity)
      return Step(
        work: .job(job, executor),
        name: added.name,
        subject: added.subject,
        identity: added.identity,
        task: added.task,
        isYield: added.isYield
      )
    }
  }

  /// Whether the step that runs only sleeps for no time, again and again: it would never end, and
  /// on threads others would run in between.
  func sleepsTooOften() -> Bool {
    withState { state in
      state.emptySleepCount += 1
      return state.emptySleepCount > 100
    }
  }

  /// - Parameters:
  ///   - deadline: When the timer is due; never at the end of time.
  ///   - timer: The timer.
  ///   - isSleep: Whether a task sleeps until then.
  func schedule(at deadline: Duration, _ timer: OperationTimer, isSleep: Bool = false) {
    let subject = StepContext.subject(in: self)
    let (number, mustEnter) = withState { state -> (Int?, Bool) in
      if state.watched.isAbandoned { return (nil, false) }
      let (identity, name) = state.names.step(.timer, "timer of \(subject.name)", of: subject)
      state.countedStepWasAdded(identity)
      state.alarmCount += 1
      let alarm = Alarm(
        deadline: deadline.clamped,
        number: state.alarmCount,
        timer: timer,
        name: name,
        subject: subject,
        identity: identity,
        isSleep: isSleep
      )
      if deadline > state.now {
        state.alarms.insert(alarm)
      } else {
        var step = Step(alarm)
        step.isYield = isSleep
        state.append(step)
      }
      return (state.alarmCount, state.entersWatchdog())
    }
    if mustEnter { RealTimeWatchdog.stepsArePending(in: self) }
    if let number { timer.wasTaken(into: self, as: number) }
  }
}

extension Simulation.Step {
  /// A timer that is due.
  init(_ alarm: Alarm) {
    self.init(
      work: .timer(alarm.timer),
      name: alarm.name,
      subject: alarm.subject,
      identity: alarm.identity
    )
  }
}

extension Simulation: TimerTable {
  func timerCancelled(_ number: Int) {
    let alarm = withState { $0.alarms.remove(number) }
    withExtendedLifetime(alarm) {}
  }
}
