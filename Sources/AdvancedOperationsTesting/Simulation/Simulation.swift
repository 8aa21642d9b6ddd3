import AdvancedOperations
import CoreOperations

/// The steps, timers and time of one simulation.
final class Simulation: Sendable {
  /// An action that could happen next.
  struct Step {
    enum Work {
      case work(@Sendable () -> Void)
      case job(UnownedJob, SimulatedExecutor)
      case timer(OperationTimer)
      #if DEBUG
      /// An interrupted step is resumed.
      case resume(SimulatedThread)
      #endif
    }

    let work: Work
    let name: String
    /// The operation, queue or code that the step is for.
    let subject: StepSubject
    /// The identity of the step, which no other step has, and which is the same in each run with
    /// the same choices.
    let identity: Fingerprint
    /// Whether user code can't notice the moment at which the step is taken.
    var isInternal = false
    /// The task that the step is a part of; nil for a step that isn't a part of a task.
    var task: StepTask?
    /// Whether time may move while the step is pending.
    var isAtAnyTime = false
    /// Whether the step is a yield of a task.
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
    /// The number of steps that keep time from moving.
    private(set) var urgentCount = 0
    /// The timers that aren't due.
    var alarms = Alarms()
    var alarmCount = 0
    var log = SimulationLog(limit: Simulation.usualLogLimit)
    /// The names of the last steps, up to three.
    private(set) var lastSteps: [String] = []
    /// The call that takes steps; nil while no call takes steps.
    var runningCall: String?
    /// The last call that took steps; nil before the first call.
    var lastCall: String?
    /// The number of steps that were taken.
    var takenCount = 0
    /// The number of times that a task yielded or time moved.
    ///
    /// A workflow that polls does one of the two in each of its rounds.
    var roundCount = 0
    /// The number of steps after which no step is taken; nil for no limit.
    var stepLimit: Int?
    /// Whether a pending step was not taken because of the limit.
    var hasReachedLimit = false
    /// The names and times of the steps at any time that were taken.
    var takenAtAnyTime: [(name: String, time: Duration)] = []
    /// The number of sleeps of the running step that ended immediately.
    var emptySleepCount = 0
    /// Whether the running step is a decision of a queue.
    var isInInternalStep = false
    /// The number of steps that were taken before time last moved.
    private(set) var countAtLastMove = 0
    var names = StepNames()
    /// Whether choices are recorded; only an exploration reads them.
    let keepsChoices: Bool
    /// The choices that were made, with their numbers of candidates.
    var choices: [Choice] = []
    /// A fingerprint of the order of all events that user code can have noticed.
    var history = Fingerprint()
    var isDiverted = false
    var faults: [Fault] = []
    /// Operations that aren't ready yet, and that a fault meets at ready.
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

    /// Notes that a step or a timer with a count in its identity was added.
    ///
    /// If a decision of a queue added the step, its count depends on the moment of the decision.
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
    ///   - remark: The text after the name in the log.
    mutating func noteStep(_ name: String, _ remark: String) {
      takenCount += 1
      note("step: \(name)\(remark)")
      if lastSteps.count == 3 { lastSteps.removeFirst() }
      lastSteps.append(name)
    }

    /// Moves time forward; does nothing if the time isn't in the future.
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
  /// The number of steps that were taken, for the watchdog.
  let progress = StepProgress()

  /// The number of lines that a log keeps by default.
  static let usualLogLimit = 100_000

  /// - Parameters:
  ///   - seed: The seed of all random choices.
  ///   - chooser: The chooser of the next step.
  ///   - keepsChoices: Whether choices are recorded.
  ///   - interruptions: The number of times that steps may be interrupted; only in debug builds.
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

  /// Calls a closure with the locked state; the running step can't be interrupted in the closure.
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

  /// Adds a step that belongs to the subject of the calling step.
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

  /// Returns whether the running step has slept for no time too often.
  ///
  /// Such a step would never end. On threads, other code would run in between.
  func sleepsTooOften() -> Bool {
    withState { state in
      state.emptySleepCount += 1
      return state.emptySleepCount > 100
    }
  }

  /// - Parameters:
  ///   - deadline: The time at which the timer is due; a timer at the end of time is never due.
  ///   - timer: The timer.
  ///   - isSleep: Whether a task sleeps until the deadline.
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
  /// Creates the step of a timer that is due.
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
