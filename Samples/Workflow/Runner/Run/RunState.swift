import WorkflowDocument

/// What a run knows of its steps: a plain value, behind the lock of the run.
struct RunState {
  /// How far a step is.
  enum Phase {
    /// Exits: `running`, `ended`.
    case waiting
    /// Its body runs. Exit: `ended`.
    case running
    /// No exit.
    case ended
  }

  /// How far what undoes a step is.
  enum Undoing {
    case begun, done
    case failed(String)
  }

  struct StepState {
    var phase = Phase.waiting
    /// When the body of its operation began.
    var begin: Duration?
    /// The number of the attempt that is going on, or was the last one.
    var attempts = 0
    /// How many attempts had failed when an earlier runner was killed, that was to try again.
    var earlierFailures = 0
    /// The numbers of the attempts that failed in this process and were followed by another one.
    var failedAttempts: [Int] = []
    /// How many attempts were lost with their machines.
    var losses = 0
    /// The attempt that goes on.
    var attempt = AttemptTimes()
    /// For how long attempts waited for their machines.
    var queued = Duration.zero
    /// What of the time since ``begin`` isn't time of its own: less than zero if it had begun in
    /// the time of an earlier runner.
    var foreignTime = Duration.zero
    /// The machine of the last attempt.
    var node: String?
    /// The machines of all attempts of this process, in order.
    var nodes: [String] = []
    /// The delay that the attempt which has failed asks for; nil if it asks for none.
    var requestedDelay: Duration?
    /// Whether an attempt has failed, and the next one hasn't begun.
    var isBetweenAttempts = false
    /// What it waits for by its engine.
    var wait: String?
    /// Whether its success is being written to the journal, or has been, and its slot is another's.
    var isRecorded = false
    /// Its success, from the moment at which it is in the journal.
    var success: StepEnd?
    /// How it ended.
    var end: StepEnd?
    /// What became of it afterwards; nil if it isn't undone.
    var undoing: Undoing?
    var isUndone: Bool {
      if case .done = undoing { true } else { false }
    }
    /// What it comes down to that it didn't run.
    var root: NeedNotDone?
    /// The attempt of an earlier runner that may be going on.
    var open: RunProgress.OpenAttempt?

    /// How long it has run, without the time in which it waited for machines.
    func duration(now: Duration) -> Duration {
      begin.map { max(now - $0 - foreignTime, .zero) } ?? .zero
    }

    /// For how long it waited for machines; nil: it didn't.
    var queuedTime: Duration? { queued > .zero ? queued : nil }
    /// Why its log may not have all that it printed.
    var cutLog: String?
    /// Whether it writes to its log.
    var isLogging = false
  }

  /// What is known of the times of an attempt.
  struct AttemptTimes {
    /// When its engine got it; nil: none goes on.
    var begin: Duration?
    /// When it began on a machine other than this one.
    var placed: Duration?
    /// How long its engine says it ran.
    var ran: Duration?
  }

  /// Why no further steps begin.
  enum Stop {
    /// A step failed.
    case failure(of: String)
    /// Somebody asked for it.
    case cancel(reason: String)

    /// What steps are cancelled with.
    var error: any Error {
      switch self {
      case .failure(let step): StepGivenUp(failed: step)
      case .cancel(let reason): RunCancelled(reason: reason)
      }
    }
  }

  private(set) var steps: [StepState]
  private let ids: [String]
  private let places: [String: Int]
  private(set) var stop: Stop?
  private var hasLeftovers = false
  /// In the order of their failing.
  private(set) var failed: [Int] = []
  private(set) var isKilled = false
  /// Whether all steps have ended, and what undoes them.
  var isOver = false
  /// What steps gave, by their ids.
  private(set) var outputs: [String: [String: String]] = [:]

  init(_ steps: [Step]) {
    self.steps = Array(repeating: StepState(), count: steps.count)
    ids = steps.map(\.id)
    places = Dictionary(steps.enumerated().map { ($1.id, $0) }) { first, _ in first }
  }

  func place(of id: String) -> Int? { places[id] }
  func end(of id: String) -> StepEnd? { places[id].flatMap { steps[$0].end } }

  /// Why the run was cancelled; nil if it wasn't.
  var cancelReason: String? {
    if case .cancel(let reason) = stop { reason } else { nil }
  }

  // MARK: Events

  /// An earlier run tells how far a step was.
  mutating func resumed(
    _ index: Int,
    attempts: Int,
    failures: Int,
    open: RunProgress.OpenAttempt?
  ) {
    steps[index].attempts = attempts
    steps[index].earlierFailures = failures
    steps[index].open = open
  }

  /// An earlier run has finished a step.
  mutating func wasDone(_ index: Int, _ end: StepEnd) {
    steps[index].success = end
    // Known from here on: it may be undone before the run comes to it.
    if !end.outputs.isEmpty { outputs[ids[index]] = end.outputs }
  }

  /// The body of a step begins, also for a further attempt; returns whether it may.
  mutating func begins(_ index: Int, now: Duration) -> Bool {
    steps[index].isBetweenAttempts = false
    if steps[index].begin != nil { return true }
    guard steps[index].phase == .waiting else { return false }
    steps[index].phase = .running
    steps[index].begin = now
    return true
  }

  /// An attempt begins; returns its number, and what an earlier runner left of it.
  mutating func attemptBegins(
    _ index: Int,
    now: Duration
  ) -> (number: Int, open: RunProgress.OpenAttempt?) {
    steps[index].wait = nil
    steps[index].requestedDelay = nil
    steps[index].attempt = AttemptTimes(begin: now)
    if let open = steps[index].open {
      steps[index].open = nil
      steps[index].attempts = open.number
      return (open.number, open)
    }
    steps[index].attempts += 1
    return (steps[index].attempts, nil)
  }

  mutating func attemptStarted(_ index: Int, node: String?, now: Duration) {
    steps[index].wait = nil
    if node != nil { steps[index].attempt.placed = now }
    steps[index].node = node
    if let node, steps[index].nodes.last != node { steps[index].nodes.append(node) }
  }

  mutating func attemptRan(_ index: Int, for time: Duration) { steps[index].attempt.ran = time }

  /// An attempt has ended: the time in which it waited for a machine is no time of the step's own.
  mutating func attemptEnds(_ index: Int, now: Duration) {
    let times = steps[index].attempt
    steps[index].attempt = AttemptTimes()
    guard let begin = times.begin else { return }
    var waited = times.placed.map { $0 - begin } ?? .zero
    if let ran = times.ran { waited = now - begin - ran }
    // It never had one.
    if times.placed == nil, times.ran == nil, steps[index].wait != nil { waited = now - begin }
    steps[index].foreignTime += waited
    steps[index].queued += max(waited, .zero)
  }

  /// An attempt has failed, and asks for a delay before the next one.
  mutating func attemptAsks(_ index: Int, forDelay delay: Duration) {
    steps[index].requestedDelay = delay
  }

  /// Something of a step begins to write to its log, or has ended.
  mutating func logs(_ index: Int, _ isLogging: Bool) { steps[index].isLogging = isLogging }

  /// There is no room for what steps write to their logs.
  ///
  /// - Parameters:
  ///   - text: What to say of it.
  ///   - index: The step; nil: all that write to their logs.
  /// - Returns: Those of which it wasn't known.
  mutating func logIsCut(_ text: String, of index: Int? = nil) -> [Int] {
    let cut = index.map { [$0] } ?? steps.indices.filter { steps[$0].isLogging }
    let new = cut.filter { steps[$0].cutLog == nil }
    for index in new { steps[index].cutLog = text }
    return new
  }

  /// An attempt has failed, and another one follows.
  mutating func attemptFailed(_ index: Int) {
    steps[index].isBetweenAttempts = true
    steps[index].failedAttempts.append(steps[index].attempts)
    steps[index].wait = nil
  }

  mutating func attemptWaits(_ index: Int, for text: String?) { steps[index].wait = text }

  /// What earlier processes have left is about to be ended, before any step begins.
  mutating func leftoversBegin() { hasLeftovers = true }

  /// Nothing of it is there any more.
  mutating func leftoversEnded() {
    hasLeftovers = false
    for index in steps.indices { steps[index].wait = nil }
  }

  /// A step whose earlier process is waited for, and what is said of that; nil if there is none.
  var leftover: (step: String, wait: String)? {
    guard hasLeftovers, let index = steps.firstIndex(where: { $0.wait != nil }) else { return nil }
    return steps[index].wait.map { (ids[index], $0) }
  }

  /// A machine was lost; returns whether the step is run again.
  mutating func attemptLost(_ index: Int, node: String?, limit: Int) -> Bool {
    steps[index].losses += 1
    steps[index].node = node ?? steps[index].node
    return steps[index].losses <= limit
  }

  /// The success of a step is about to be written to the journal.
  mutating func recordingBegins(_ index: Int) { steps[index].isRecorded = true }

  /// The success of a step is in the journal.
  mutating func succeeded(_ index: Int, _ end: StepEnd) { steps[index].success = end }

  /// A step has ended; returns false if that was known.
  mutating func ended(_ index: Int, _ end: StepEnd, because root: NeedNotDone?) -> Bool {
    guard steps[index].phase != .ended else { return false }
    steps[index].phase = .ended
    steps[index].isBetweenAttempts = false
    steps[index].root = root
    steps[index].end = end
    if !end.outputs.isEmpty { outputs[ids[index]] = end.outputs }
    if end.outcome == .failed { failed.append(index) }
    return true
  }

  /// A step that has ended is being undone, or has been; nil: it is to run again.
  mutating func undoes(_ index: Int, _ undoing: Undoing?) { steps[index].undoing = undoing }

  /// No further steps begin, the first reason is the one that counts, and a cancel counts more.
  ///
  /// - Parameters:
  ///   - reason: The reason.
  ///   - keeps: Says of a step whether it may begin nonetheless.
  /// - Returns: The steps that don't begin; nil if there is nothing new.
  mutating func stops(_ reason: Stop, except keeps: (Int) -> Bool) -> [Int]? {
    if cancelReason != nil { return nil }
    if case .failure = reason, stop != nil { return nil }
    stop = reason
    return steps.indices.filter { steps[$0].phase == .waiting && !keeps($0) }
      .map { index in
        // So that its body doesn't begin between this and the cancel of its operation.
        steps[index].phase = .running
        return index
      }
  }

  /// Everything is killed; returns false if it was before.
  mutating func killed() -> Bool {
    defer { isKilled = true }
    return !isKilled
  }
}
