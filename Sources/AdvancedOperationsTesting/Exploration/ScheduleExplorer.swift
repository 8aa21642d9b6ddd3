import CoreOperations

/// Runs one workflow under many schedules.
struct ScheduleExplorer {
  let seed: UInt64
  /// How often a step may be interrupted; only in debug builds.
  var interruptions = 0
  var prunes = true
  private let progress: ExplorationProgress
  private let workflow: (SimulatedEnvironment) throws -> Void

  private init(seed: UInt64, workflow: @escaping (SimulatedEnvironment) throws -> Void) {
    self.seed = seed
    self.workflow = workflow
    progress = ExplorationProgress(call: "exploreSchedules", counting: "schedule", seed: seed)
  }

  /// Gives a closure an explorer of a workflow, which it sets up and uses while it runs.
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

  /// What one run came to; releases the operations of the workflow with itself.
  final class Run {
    let choices: [Choice]
    let error: (any Error)?
    let simulation: SimulatedEnvironment

    init(choices: [Choice], error: (any Error)?, simulation: SimulatedEnvironment) {
      self.choices = choices
      self.error = error
      self.simulation = simulation
    }

    // A task that is suspended, or the workflow, may keep the simulation.
    deinit { simulation.simulation.abandon() }

    var log: SimulationLog { simulation.simulation.log }
  }

  /// Where an exploration was called.
  private struct Place {
    let fileID: String
    let line: Int
  }

  /// - Throws: `CancellationError` if the task that explores is cancelled.
  func run(_ chooser: any ScheduleChooser) throws -> Run {
    let run = runOnce(chooser)
    if run.simulation.simulation.wasCancelled || isCallerCancelled { throw CancellationError() }
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
    progress.begins(simulation.simulation)
    var error: (any Error)?
    do {
      try workflow(simulation)
      if let problem = ScheduleProblem(atEndOf: simulation.simulation) { throw problem }
    } catch let thrown {
      error = thrown
    }
    return Run(choices: simulation.simulation.choices, error: error, simulation: simulation)
  }

  /// The steps that schedules take together unless their number is given: about half a second in a
  /// debug build, at 50 to 100 µs a step.
  private static let stepBudget = 4_000

  /// Explores depth first, and at random when that would take too long.
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
    var longest = 0
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
      let run = try run(search)
      stepCount += run.simulation.simulation.withState { $0.takenCount }
      longest = max(longest, run.choices.count)
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
    report.isComplete = !hasMore
    if !report.isComplete {
      for number in 0..<max(random, 0) {
        let run = try draw(number, .usual(number), &longest)
        try check(run)
        report.randomCount += 1
        samples.add(run.choices, run.log)
      }
    }
    try repeatRuns(samples, report, at)
    return report
  }

  /// Some of the schedules that were run, and what happened.
  private struct Samples {
    typealias Sample = (choices: [Choice], log: SimulationLog)
    private var first: [Sample] = []
    private var last: Sample?

    mutating func add(_ choices: [Choice], _ log: SimulationLog) {
      if first.count < 4 { first.append((choices, log)) } else { last = (choices, log) }
    }

    /// Each twice, and where there are few more often: what is decided by a coin in a workflow of
    /// one schedule has to come up differently at some time.
    var repeated: [Sample] {
      let all = first + (last.map { [$0] } ?? [])
      return all.isEmpty ? [] : (0..<(last == nil ? 16 : 2 * all.count)).map { all[$0 % all.count] }
    }
  }

  /// Runs some schedules again, to see whether the same happens.
  private func repeatRuns(_ samples: Samples, _ report: ScheduleReport, _ at: Place) throws {
    for sample in samples.repeated {
      let schedule = Schedule(seed: seed, interruptions: interruptions, sample.choices)
      let run = try run(ScriptedChooser(schedule.choices))
      let problem = ScheduleProblem(run.log, differsFrom: sample.log)
      if let error: any Error = problem ?? run.error { throw failure(run, error, report, at) }
    }
  }

  /// Runs under the schedule with a number.
  private func draw(
    _ number: Int,
    _ drawing: ScheduleDrawing,
    _ longest: inout Int
  ) throws -> Run {
    let run = try run(drawing.chooser(seed: seed &+ UInt64(number), length: longest))
    longest = max(longest, run.choices.count)
    return run
  }

  /// How many of the schedules that are drawn in one way fail; in the usual one when it is nil.
  func failures(drawing: ScheduleDrawing?, among count: Int) throws -> Int {
    var longest = try run(SeededChooser(seed: seed)).choices.count
    return try (0..<count).count { try draw($0, drawing ?? .usual($0), &longest).error != nil }
  }

  func replay(_ schedule: Schedule, fileID: String, line: Int) throws {
    let run = try run(ScriptedChooser(schedule.choices))
    defer { withExtendedLifetime(run) {} }
    let mismatch = run.simulation.replayMismatch.map { ScheduleProblem.misfit($0) }
    guard let error = run.error ?? mismatch else { return }
    throw ScheduleFailure(
      underlying: error,
      schedule: schedule.description,
      scheduleCount: 1,
      log: run.simulation.log,
      // It is a second thing to know when the workflow has failed as well.
      note: run.error == nil ? nil : mismatch?.description,
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
    // One that isn't deterministic doesn't fail in the same way again.
    let isRepeatable = (error as? ScheduleProblem)?.isRepeatable ?? true
    let (schedule, shortest) = isRepeatable ? shortened(found, run, error) : (found, run)
    // The log goes with the run.
    defer { withExtendedLifetime(shortest) {} }
    return ScheduleFailure(
      underlying: isRepeatable ? shortest.error ?? error : error,
      schedule: schedule.description,
      scheduleCount: report.scheduleCount + report.prunedCount + report.randomCount + 1,
      log: shortest.simulation.log,
      note: nil,
      fileID: at.fileID,
      line: at.line
    )
  }

  /// Takes the first step, or an earlier one, at as many choices as possible; it still has to fail
  /// in the same way.
  private func shortened(_ schedule: Schedule, _ run: Run, _ error: any Error) -> (Schedule, Run) {
    var best = (schedule: schedule, run: run)
    var budget = 400
    func fails(_ schedule: Schedule) -> Bool {
      guard budget > 0 else { return false }
      budget -= 1
      guard let run = try? self.run(ScriptedChooser(schedule.choices)) else {
        budget = 0
        return false
      }
      guard let other = run.error, type(of: other) == type(of: error) else { return false }
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
    // Choices that the shorter run doesn't come to would not fit when it is replayed.
    best.schedule = Schedule(seed: seed, interruptions: interruptions, best.run.choices)
    return best
  }
}
