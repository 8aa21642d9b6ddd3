import CoreOperations

/// Runs one workflow in many schedules.
struct ScheduleExplorer {
  let seed: UInt64
  /// The number of times that steps of a schedule may be interrupted; only in debug builds.
  var interruptions = 0
  var prunes = true
  /// The number of steps that a schedule may have.
  var stepLimit = 20_000
  private let progress: ExplorationProgress
  private let workflow: (SimulatedEnvironment) throws -> Void

  private init(seed: UInt64, workflow: @escaping (SimulatedEnvironment) throws -> Void) {
    self.seed = seed
    self.workflow = workflow
    progress = ExplorationProgress(call: "exploreSchedules", counting: "schedule", seed: seed)
  }

  /// Calls a closure with an explorer of a workflow, which the closure configures and uses.
  static func with<Result>(
    _ workflow: (SimulatedEnvironment) throws -> Void,
    seed: UInt64,
    _ body: (inout ScheduleExplorer) throws -> Result
  ) throws -> Result {
    try withoutActuallyEscaping(workflow) { workflow in
      var explorer = ScheduleExplorer(seed: seed, workflow: workflow)
      let guarded = RealTimeWatchdog.begin(explorer.progress)
      defer { guarded.end() }
      return try body(&explorer)
    }
  }

  /// The result of one run; its `deinit` releases the operations of the workflow.
  final class Run {
    let choices: [Choice]
    let error: (any Error)?
    let simulation: SimulatedEnvironment

    init(choices: [Choice], error: (any Error)?, simulation: SimulatedEnvironment) {
      self.choices = choices
      self.error = error
      self.simulation = simulation
    }

    // A suspended task, or the workflow, may still retain the simulation.
    deinit { simulation.simulation.abandon() }

    var log: SimulationLog { simulation.simulation.log }
  }

  /// The file and the line in which an exploration was called.
  private struct Place {
    let fileID: String
    let line: Int
  }

  /// Whether each schedule is written on standard error before it is run.
  static let printsSchedules = ProcessEnvironment.isSet("OPERATIONS_PRINT_SCHEDULES")

  func run(_ schedule: Schedule) throws -> Run { try run(schedule.chooser, as: schedule) }

  /// Runs the workflow once.
  ///
  /// - Parameters:
  ///   - chooser: The chooser that makes the choices.
  ///   - schedule: The schedule that makes the same choices, as far as it is known before the run.
  /// - Returns: The result of the run.
  /// - Throws: `CancellationError` if the task that explores is cancelled.
  func run(
    _ chooser: any ScheduleChooser,
    as schedule: @autoclosure () -> Schedule
  ) throws -> Run {
    if Self.printsSchedules {
      StandardError.write(line: "exploreSchedules(replaying: \"\(schedule())\") { … }")
    }
    let run = runOnce(chooser)
    try run.simulation.simulation.checkNotCancelled()
    progress.explored()
    return run
  }

  private func runOnce(_ chooser: any ScheduleChooser) -> Run {
    let simulation = SimulatedEnvironment(
      simulation: Simulation(
        seed: seed,
        chooser: chooser,
        keepsChoices: true,
        interruptions: interruptions
      )
    )
    simulation.simulation.withState { $0.stepLimit = stepLimit }
    progress.begins(simulation.simulation)
    var error: (any Error)?
    do {
      try workflow(simulation)
      if let problem = ScheduleProblem(atEndOf: simulation.simulation) { throw problem }
    } catch let thrown {
      error = thrown
    }
    // At the limit, an error of the workflow describes an unfinished run: report the limit instead.
    error = ScheduleProblem(limitOf: simulation.simulation) ?? error
    return Run(choices: simulation.simulation.choices, error: error, simulation: simulation)
  }

  /// The number of steps after which the depth-first search ends by default.
  ///
  /// The steps take about half a second in a debug build, at 50 to 100 µs a step.
  private static let stepBudget = 4_000

  /// Explores schedules depth first, and then at random if the depth-first search isn't complete.
  func explore(
    depthFirst: Int?,
    random: Int,
    fileID: String,
    line: Int
  ) throws -> ScheduleReport {
    let at = Place(fileID: fileID, line: line)
    var report = ScheduleReport()
    func check(_ run: Run) throws {
      guard let error = run.error else { return }
      throw failure(run, error, report, at)
    }
    var lengths = Lengths()
    var samples = Samples()
    var lastLog = SimulationLog(limit: nil)
    let search = DepthFirstSearch(prunes: prunes && interruptions == 0)
    var hasMore = true
    var stepCount = 0
    func mayContinue() -> Bool {
      guard let depthFirst else { return stepCount < Self.stepBudget }
      return report.scheduleCount + report.prunedCount < depthFirst
    }
    while hasMore && mayContinue() {
      search.begin()
      let run = try run(search, as: Schedule(seed: seed, interruptions: interruptions, search.plan))
      stepCount += run.simulation.simulation.withState { $0.takenCount }
      lengths.add(run)
      report.add(run)
      let log = run.log
      switch search.end {
      case .broken:
        let problem = ScheduleProblem(log, differsFrom: lastLog)
        throw failure(
          run,
          problem ?? .differs(after: log.lines.last, was: nil, is: nil),
          report,
          at
        )
      case .new:
        try check(run)
        report.scheduleCount += 1
        samples.add(run.choices, log)
      case .pruned:
        try check(run)
        report.prunedCount += 1
      }
      lastLog = log
      hasMore = search.advance()
    }
    report.isComplete = !hasMore && !search.isBounded
    report.isBounded = !hasMore && search.isBounded
    if !report.isComplete {
      for number in 0..<max(random, 0) {
        let run = try draw(number, &lengths)
        report.add(run)
        try check(run)
        report.randomCount += 1
        samples.add(run.choices, run.log)
      }
    }
    try repeatRuns(samples, report, at)
    return report
  }

  /// Some of the schedules that were run, with their logs.
  private struct Samples {
    typealias Sample = (choices: [Choice], log: SimulationLog)
    private var first: [Sample] = []
    private var last: Sample?

    mutating func add(_ choices: [Choice], _ log: SimulationLog) {
      if first.count < 4 { first.append((choices, log)) } else { last = (choices, log) }
    }

    /// Two runs of each sample, or 16 runs if there are only a few samples.
    ///
    /// In a workflow with one schedule, a random decision outside of the simulation differs in at
    /// least one of these runs.
    var repeated: [Sample] {
      let all = first + (last.map { [$0] } ?? [])
      return all.isEmpty ? [] : (0..<(last == nil ? 16 : 2 * all.count)).map { all[$0 % all.count] }
    }
  }

  /// Runs some schedules again, and throws if a run differs or fails.
  private func repeatRuns(_ samples: Samples, _ report: ScheduleReport, _ at: Place) throws {
    for sample in samples.repeated {
      let schedule = Schedule(seed: seed, interruptions: interruptions, sample.choices)
      let run = try run(schedule)
      let problem = ScheduleProblem(run.log, differsFrom: sample.log)
      if let error: any Error = problem ?? run.error { throw failure(run, error, report, at) }
    }
  }

  /// The estimated lengths of schedules, in choices.
  private struct Lengths {
    private(set) var longest = 0
    /// The length until only steps that may be taken at any time are left.
    private(set) var even = 16

    mutating func add(_ run: Run) {
      longest = max(longest, run.choices.count)
      let chooser = run.simulation.simulation.withState { $0.chooser }
      guard let chooser = chooser as? EvenMomentsChooser else { return }
      // A workflow that polls has no natural length.
      even = chooser.naturalLength ?? min(max(even, 2 * chooser.waitCount), 512)
    }
  }

  /// Runs the workflow in the random schedule with a number.
  private func draw(_ number: Int, _ lengths: inout Lengths) throws -> Run {
    var schedule = Schedule(seed: seed, interruptions: interruptions, choices: [:])
    schedule.drawn = .init(number: number, length: lengths.longest, evenLength: lengths.even)
    let run = try run(schedule)
    lengths.add(run)
    return run
  }

  /// Returns the number of failures among random schedules that are drawn in one way; nil for the
  /// usual way.
  func failures(drawing: ScheduleDrawing?, among count: Int) throws -> Int {
    let plain = Schedule(seed: seed, interruptions: interruptions, choices: [:])
    var lengths = Lengths()
    lengths.add(try run(SeededChooser(seed: seed), as: plain))
    return try (0..<count).count { number in
      guard let drawing else { return try draw(number, &lengths).error != nil }
      let seed = seed &+ UInt64(number)
      let run = try run(drawing.chooser(seed: seed, length: lengths.longest), as: plain)
      lengths.add(run)
      return run.error != nil
    }
  }

  func replay(_ schedule: Schedule, fileID: String, line: Int) throws {
    let run = try run(schedule)
    defer { withExtendedLifetime(run) {} }
    let mismatch = run.simulation.replayMismatch.map { ScheduleProblem.misfit($0) }
    guard let error = run.error ?? mismatch else { return }
    throw ScheduleFailure(
      underlying: error,
      schedule: schedule.description,
      scheduleCount: 1,
      log: run.simulation.log,
      // If the workflow has failed as well, the mismatch is an additional remark.
      note: run.error == nil ? nil : mismatch?.description,
      // A schedule that doesn't fit can't be replayed.
      isRepeatable: run.error != nil || mismatch == nil,
      fileID: fileID,
      line: line
    )
  }

  private func failure(
    _ run: Run,
    _ error: any Error,
    _ report: ScheduleReport,
    _ at: Place
  ) -> ScheduleFailure {
    let found = Schedule(seed: seed, interruptions: interruptions, run.choices)
    let count = report.scheduleCount + report.prunedCount + report.randomCount + 1
    func failure(
      _ run: Run,
      _ error: any Error,
      _ schedule: Schedule,
      note: String? = nil
    ) -> ScheduleFailure {
      // The log is released together with the run.
      defer { withExtendedLifetime(run) {} }
      return ScheduleFailure(
        underlying: error,
        schedule: schedule.description,
        scheduleCount: count,
        log: run.simulation.log,
        note: note,
        isRepeatable: note == nil && (error as? ScheduleProblem)?.isDifference != true,
        fileID: at.fileID,
        line: at.line
      )
    }
    if let problem = error as? ScheduleProblem, !problem.isRepeatable {
      return failure(run, error, found)
    }
    // If the task was cancelled, report the failure without shortening its schedule.
    guard let again = try? self.run(found) else { return failure(run, error, found) }
    if let note = ScheduleFailure.sentence(
      aboutRepeating: error,
      run.log,
      as: again.error,
      again.log
    ) {
      return failure(run, error, found, note: note)
    }
    let (schedule, shortest) = shortened(found, run, error)
    return failure(shortest, shortest.error ?? error, schedule)
  }

  /// Returns a schedule with fewer choices that fails in the same way: it takes the first step, or
  /// an earlier step, at as many choices as possible.
  private func shortened(_ schedule: Schedule, _ run: Run, _ error: any Error) -> (Schedule, Run) {
    var best = (schedule: schedule, run: run)
    var budget = 400
    func fails(_ schedule: Schedule) -> Bool {
      guard budget > 0 else { return false }
      budget -= 1
      guard let run = try? self.run(schedule) else {
        budget = 0
        return false
      }
      guard let other = run.error, ScheduleFailure.isSame(other, as: error) else { return false }
      best = (schedule, run)
      return true
    }
    var size = max(1, schedule.choices.count)
    while size > 0 {
      var places = best.schedule.choices.keys.sorted(by: >)
      while !places.isEmpty && budget > 0 {
        var shorter = best.schedule
        for place in places.prefix(size) { shorter.choices[place] = nil }
        _ = fails(shorter)
        places.removeFirst(min(size, places.count))
      }
      size /= 2
    }
    for place in best.schedule.choices.keys.sorted() {
      while let index = best.schedule.choices[place], index > 1 {
        var smaller = best.schedule
        smaller.choices[place] = index - 1
        guard fails(smaller) else { break }
      }
    }
    // The shorter run may make fewer choices, and the remaining ones wouldn't fit in a replay.
    best.schedule = Schedule(seed: seed, interruptions: interruptions, best.run.choices)
    return best
  }
}
