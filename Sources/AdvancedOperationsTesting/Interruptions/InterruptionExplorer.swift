import AdvancedOperations
import CoreOperations

/// Interrupts one workflow after each of its steps.
struct InterruptionExplorer<Context> {
  let build: (SimulatedEnvironment) throws -> Context
  let interrupt: (Context) throws -> Void
  let check: (Context) throws -> Void
  var seed: UInt64 = 0
  /// The number of steps after which a run fails, because it may have no end.
  let stepLimit: Int
  let fileID: String
  let line: Int
  let progress = ExplorationProgress(call: "exploreInterruptions", counting: "interruption")

  /// A step of the run without an interruption.
  private struct Step {
    let name: String
    /// The virtual time after the step.
    let time: Duration
  }

  /// The run without an interruption.
  private struct Whole {
    let run: SteppedRun
    let context: Context
    var steps: [Step] = []
    var log = SimulationLog(limit: nil)
    /// Whether the run was stopped although steps or timers were left.
    var isCut = false
  }

  /// The longest run that is explored if the test sets no limit: the time grows with its square.
  private static var longestRun: Int { 2_000 }

  /// Interrupts the workflow in a number of orders of its steps.
  func explore(
    _ schedules: Int,
    from seed: UInt64,
    upTo limit: Int?
  ) throws -> InterruptionReport {
    let guarded = RealTimeWatchdog.begin(progress)
    defer { guarded.end() }
    var explorer = self
    var report = InterruptionReport()
    for number in 0..<max(schedules, 1) {
      explorer.seed = seed &+ UInt64(number)
      progress.begins(seed: explorer.seed)
      try explorer.explore(upTo: limit, &report)
    }
    return report
  }

  /// Interrupts the workflow in the order of steps that follows from the seed.
  private func explore(upTo limit: Int?, _ report: inout InterruptionReport) throws {
    let whole = try runWhole(upTo: limit.map { max($0, 0) })
    for count in whole.steps.indices { try runInterrupted(after: count, like: whole) }
    // Finish a run that was stopped early, because its operations would stay in memory otherwise.
    try finish(whole.run, whole.context, whole)
    report.scheduleCount += 1
    report.interruptionCount += whole.steps.count + 1
    if whole.isCut { report.isComplete = false }
  }

  /// Interrupts the workflow only after this number of steps.
  func explore(onlyAfter count: Int) throws {
    try runInterrupted(after: max(count, 0), like: nil)
  }

  // MARK: Running

  private func runWhole(upTo limit: Int?) throws -> Whole {
    let story = "The workflow ran without an interruption."
    let (run, context) = try begin()
    var whole = Whole(run: run, context: context)
    while whole.steps.count < limit ?? Self.longestRun {
      try run.proceed(upTo: whole.steps.count + 1)
      if run.stepCount == whole.steps.count { break }
      whole.steps.append(Self.lastStep(of: run.simulation))
    }
    whole.log = run.simulation.simulation.log
    whole.isCut = !run.simulation.simulation.isIdle
    if limit != nil { return whole }
    guard !whole.isCut else {
      throw fail(
        story,
        "It hasn't ended after \(counted(Self.longestRun, "step")), and exploring n steps takes "
          + "n² steps. Pass upToStep: for the last step to explore."
      )
    }
    let advice =
      "If only an interruption ends the workflow, pass upToStep: for the last step to explore."
    try checkEnd(of: run.simulation, story, advice)
    return whole
  }

  private func runInterrupted(after count: Int, like whole: Whole?) throws {
    if ScheduleExplorer.printsSchedules {
      StandardError.write(line: "exploreInterruptions(replayingStep: \(count), seed: \(seed), …)")
    }
    let (run, context) = try begin()
    try run.proceed(upTo: count)
    try checkSame(run, count, whole)
    try finish(run, context, whole)
  }

  /// Interrupts a run, and checks how it ends.
  private func finish(_ run: SteppedRun, _ context: Context, _ whole: Whole?) throws {
    let story = Self.story(of: run, whole)
    let advice = advice(run.stepCount)
    do {
      try interrupt(context)
    } catch {
      throw fail(story, "The interruption threw: \(error)", underlying: error, advice)
    }
    run.simulation.run()
    try run.simulation.simulation.checkNotCancelled()
    do {
      try check(context)
    } catch {
      let strays = run.simulation.strays.map { "\n\($0)" }.joined()
      throw fail(story, "The check threw: \(error)\(strays)", underlying: error, advice)
    }
    try checkEnd(of: run.simulation, story, advice, wasInterrupted: true)
    progress.explored()
  }

  private func begin() throws -> (run: SteppedRun, context: Context) {
    let run = SteppedRun(seed: seed, call: "exploreInterruptions", stepLimit, progress)
    let context: Context
    do {
      context = try build(run.simulation)
    } catch {
      throw fail("The closure that builds the workflow threw: \(error)", underlying: error)
    }
    let purpose = "it can interrupt the workflow after each of them"
    if let remark = run.remark(aboutRunBefore: "exploreInterruptions", purpose) {
      throw fail("Instead of only building the workflow, \(remark)")
    }
    return (run, context)
  }

  private static func lastStep(of simulation: SimulatedEnvironment) -> Step {
    simulation.simulation.withState { Step(name: $0.lastSteps.last ?? "none", time: $0.now) }
  }

  // MARK: Checking

  /// Checks that the steps before the interruption are the same as in the run without an
  /// interruption.
  private func checkSame(_ run: SteppedRun, _ count: Int, _ whole: Whole?) throws {
    guard let whole else {
      if run.stepCount == count { return }
      throw fail(
        "The workflow should be interrupted after \(counted(count, "step")), but it has only "
          + "\(run.stepCount) with this seed."
      )
    }
    let log = run.simulation.simulation.log
    if let problem = ScheduleProblem(log, differsFrom: whole.log.prefix(log.count)) {
      throw fail("\(problem)")
    }
  }

  /// Checks that no step is pending, and that each unfinished operation waits for the test.
  private func checkEnd(
    of simulation: SimulatedEnvironment,
    _ story: String,
    _ advice: String? = nil,
    wasInterrupted: Bool = false
  ) throws {
    let simulation = simulation.simulation
    let problem = ScheduleProblem(limitOf: simulation) ?? ScheduleProblem(atEndOf: simulation)
    if let problem {
      // An interruption before the first step may leave nothing to do.
      if case .noStep = problem, wasInterrupted { return }
      throw fail(story, "\(problem)", advice)
    }
  }

  // MARK: Messages

  private func fail(
    _ story: String,
    _ problem: String? = nil,
    underlying: (any Error)? = nil,
    _ advice: String? = nil
  ) -> ExpectationFailure {
    // With advice, the message has several sentences, so each part is on its own line.
    let parts = [story, problem, advice].compactMap { $0 }
    return ExpectationFailure(
      parts.joined(separator: advice == nil ? " " : "\n"),
      seed: seed,
      underlying: underlying,
      fileID: fileID,
      line: line
    )
  }

  /// Returns a sentence with the moment at which a run was interrupted.
  private static func story(of run: SteppedRun, _ whole: Whole?) -> String {
    let count = run.stepCount
    let next = whole.flatMap { count < $0.steps.count ? $0.steps[count].name : nil }
    guard count > 0 else {
      return "The workflow was interrupted before its first step"
        + next.map { ", “\($0)”" }.orEmpty + "."
    }
    let last = lastStep(of: run.simulation)
    let isLast = whole.map { count == $0.steps.count && !$0.isCut } ?? false
    return "The workflow was interrupted at \(last.time.readable), after "
      + (isLast ? "its last step, number \(count)" : "step \(count)") + ", “\(last.name)”"
      + next.map { ", and before “\($0)”" }.orEmpty + "."
  }

  /// Returns the advice to interrupt the workflow at the same moment again.
  private func advice(_ count: Int) -> String {
    "Interrupt it only there with exploreInterruptions(replayingStep: \(count), seed: \(seed)) and the "
      + "same closures,\nor build it with SimulatedEnvironment(seed: \(seed)), call step() "
      + (count == 1 ? "once" : "\(count) times") + ", interrupt it, and call run()."
  }
}
