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
    /// What the step is for: the name of an operation or queue.
    let subject: String
    /// Whether no code of a user can tell when the step is taken.
    var isInternal = false
    /// The task that the step is a part of; nil for a step that is none.
    var task: String?
    /// Whether time may move while the step is pending.
    var isAtAnyTime = false
  }

  struct State {
    var chooser: any ScheduleChooser
    var generator: SplitMix64
    var now = Duration.zero
    private(set) var steps: [Step] = []
    /// How many of the steps keep time from moving.
    private(set) var urgentCount = 0
    /// The timers whose time has not come, by number.
    var alarms = Alarms()
    var alarmCount = 0
    private(set) var lines: [String] = []
    /// Of all lines.
    private(set) var logPrint = Fingerprint()
    /// The call that takes steps; nil while none does.
    var runningCall: String?
    /// The last call that took steps; nil before the first.
    var lastCall: String?
    /// How many steps were taken.
    var takenCount = 0
    /// The name of the last step that was taken; nil before the first.
    var lastStep: String?
    var names = StepNames()
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
      steps.append(step)
      if !step.isAtAnyTime { urgentCount += 1 }
    }

    mutating func removeStep(at index: Int) -> Step {
      let step = steps.remove(at: index)
      if !step.isAtAnyTime { urgentCount -= 1 }
      return step
    }

    mutating func note(_ line: String) {
      lines.append("[\(now)] \(line)")
      logPrint.add(lines[lines.count - 1])
    }
  }

  let seed: UInt64
  let isPreemptive: Bool
  let clockIdentity = ClockIdentity()
  let state: Locked<State>
  /// How many steps were taken, for the watchdog.
  let progress = StepProgress()

  /// - Parameters:
  ///   - seed: What chance begins with.
  ///   - chooser: Says what is next.
  ///   - interruptions: How often a step may be interrupted; only in debug builds.
  init(seed: UInt64, chooser: any ScheduleChooser, interruptions: Int = 0) {
    self.seed = seed
    isPreemptive = interruptions > 0
    var state = State(chooser: chooser, generator: SplitMix64(seed: ~seed))
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
  var log: String { withState { $0.lines.map { $0 + "\n" }.joined() } }
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
    append { state in
      let name = state.names.unique(name)
      return Step(work: work, name: name, subject: name, isAtAnyTime: atAnyTime)
    }
  }

  /// Adds something that belongs to whatever is going on where this is called.
  func addPart(_ body: @escaping @Sendable () -> Void) {
    let subject = StepContext.subject(in: self)
    append { state in
      let name = state.names.unique("part of \(subject)")
      return Step(work: .work(body), name: name, subject: subject)
    }
  }

  func add(_ step: WorkerStep, _ body: @escaping @Sendable () -> Void) {
    let label = step.label
    append { state in
      let (verb, subject) = state.names.describe(step, label: label)
      var added = Step(work: .work(body), name: "\(verb) \(subject)", subject: subject)
      if case .decide = step { added.isInternal = true }
      return added
    }
  }

  func add(_ job: UnownedJob, on executor: SimulatedExecutor) {
    let place = StepContext.place(in: self)
    append { state in
      let name = state.names.job("\(job)", addedIn: place)
      let work = Step.Work.job(job, executor)
      return Step(work: work, name: name.step, subject: name.subject, task: name.task)
    }
  }

  func schedule(at deadline: Duration, _ timer: OperationTimer) {
    let subject = StepContext.subject(in: self)
    let number = withState { state in
      state.alarmCount += 1
      let alarm = Alarm(
        deadline: deadline.clamped,
        number: state.alarmCount,
        timer: timer,
        name: state.names.unique("timer of \(subject)"),
        subject: subject
      )
      state.alarms.insert(alarm)
      return state.alarmCount
    }
    timer.wasTaken(into: self, as: number)
  }
}

extension Simulation: TimerTable {
  func timerCancelled(_ number: Int) {
    let alarm = withState { $0.alarms.remove(number) }
    withExtendedLifetime(alarm) {}
  }
}
