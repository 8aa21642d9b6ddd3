import AdvancedOperations
import CoreOperations

/// Runs one workflow again and again, and lets the runs crash after different steps.
struct RestartExplorer<ExternalState> {
  typealias Workflow = (SimulatedEnvironment, InMemoryJournal, ExternalState) throws ->
    AdvancedOperation

  let makeState: () throws -> ExternalState
  let workflow: Workflow
  /// Inspects the external state after the last run of a series; nil if there is no external state.
  let checkState: ((ExternalState) throws -> Void)?
  var seed: UInt64 = 0
  let stepLimit: Int
  let fileID: String
  let line: Int
  let progress = ExplorationProgress(call: "exploreRestarts", counting: "restart")

  /// A run of the workflow, from the start of the process to a crash or to the last step.
  struct Life {
    let run: SteppedRun
    let operation: AdvancedOperation
    let journal: InMemoryJournal
    /// The keys that were recorded before the run.
    let recorded: [String]

    var simulation: SimulatedEnvironment { run.simulation }
    var stepCount: Int { run.stepCount }
  }

  /// A first run, and the runs after its crashes, with the same external state.
  struct Series {
    let state: ExternalState
    /// The description of the runs so far, in sentences.
    var story: String
  }

  /// Explores a number of orders of steps.
  func explore(_ schedules: Int, from seed: UInt64) throws -> RestartReport {
    let guarded = RealTimeWatchdog.begin(progress)
    defer { guarded.end() }
    var explorer = self
    var report = RestartReport()
    for number in 0..<max(schedules, 1) {
      explorer.seed = seed &+ UInt64(number)
      progress.begins(seed: explorer.seed)
      report.restartCount += try explorer.explore()
      report.scheduleCount += 1
    }
    return report
  }

  /// Explores the order of steps that follows from the seed; returns the number of crashes.
  private func explore() throws -> Int {
    let series = try newSeries()
    let whole = try live(in: series)
    try checkWhole(whole, series)
    var generator = SplitMix64(seed: seed)
    var deathCount = 0
    for limit in 0..<whole.stepCount {
      deathCount += try die(after: limit, like: whole, &generator)
    }
    for count in whole.journal.records.indices {
      // A run without a crash creates the external state.
      var series = try newSeries()
      let records = Array(try live(in: series).journal.records.prefix(count))
      let keys = Self.list(records.map(\.key))
      let survivors = counted(count, "record") + (count == 1 ? " has" : " have")
      series.story = "Of the journal, \(survivors) survived: \(keys)."
      try finish(series, generator.next(), records, like: whole)
      progress.explored()
      deathCount += 1
    }
    return deathCount
  }

  /// Lets the workflow crash once or twice, and then runs it to its end; returns the number of
  /// crashes.
  private func die(
    after limit: Int,
    like whole: Life,
    _ generator: inout SplitMix64
  ) throws -> Int {
    var series = try newSeries()
    var deathCount = 1
    // Take the same steps as the run without a crash, up to the limit.
    var life = try live(upTo: limit, in: series)
    series.story = Self.story(of: life)
    if generator.next() % 2 == 0 {
      life = try begin(generator.next(), with: life.journal.records, in: series)
      try life.run.proceed(upTo: Int(clamping: generator.next() % UInt64(whole.stepCount)))
      try checkBegun(life, series)
      series.story += " " + Self.story(of: life)
      deathCount += 1
    }
    try finish(series, generator.next(), life.journal.records, like: whole)
    progress.explored(deathCount)
    return deathCount
  }

  private func newSeries() throws -> Series {
    let story = "The workflow ran without a crash."
    do {
      return Series(state: try makeState(), story: story)
    } catch {
      throw fail(
        story,
        "The closure that creates the external state threw: \(error)",
        underlying: error
      )
    }
  }

  /// Returns the first run of a series.
  private func live(upTo limit: Int = .max, in series: Series) throws -> Life {
    let life = try begin(seed, with: [], in: series)
    try life.run.proceed(upTo: limit)
    return life
  }

  /// Begins a run without taking a step.
  private func begin(
    _ seed: UInt64,
    with records: [InMemoryJournal.Record],
    in series: Series
  ) throws -> Life {
    let run = SteppedRun(seed: seed, call: Simulation.restartRun, stepLimit, progress)
    let journal = InMemoryJournal(records)
    let operation: AdvancedOperation
    do {
      operation = try workflow(run.simulation, journal, series.state)
    } catch {
      throw fail(series.story, "Then the closure threw: \(error)", underlying: error)
    }
    try checkNotRun(run, series)
    return Life(
      run: run,
      operation: operation,
      journal: journal,
      recorded: records.map(\.key)
    )
  }

  /// Restarts the workflow with the records, runs it to its end, and compares the result.
  private func finish(
    _ series: Series,
    _ seed: UInt64,
    _ records: [InMemoryJournal.Record],
    like whole: Life
  ) throws {
    let life = try begin(seed, with: records, in: series)
    try life.run.proceed(upTo: .max)
    try checkBegun(life, series)
    try check(life, against: whole, series)
  }

  private static func story(of life: Life) -> String {
    "The process crashed after \(counted(life.stepCount, "step")), "
      + "with \(list(life.journal.keys)) recorded."
  }

  static func list(_ keys: [String]) -> String {
    keys.isEmpty ? "nothing" : keys.map { "“\($0)”" }.joined(separator: ", ")
  }
}

extension RestartExplorer {
  func fail(
    _ story: String,
    _ problem: String,
    underlying: (any Error)? = nil
  ) -> ExpectationFailure {
    ExpectationFailure(
      "\(story) \(problem)",
      seed: seed,
      underlying: underlying,
      fileID: fileID,
      line: line
    )
  }

  /// Checks that the closure hasn't taken steps, because the explorer can't let the run crash after
  /// them.
  func checkNotRun(_ run: SteppedRun, _ series: Series) throws {
    let purpose = "the process can crash after each of them"
    if let remark = run.remark(aboutRunBefore: "exploreRestarts", purpose) {
      throw fail(series.story, "Then \(remark)")
    }
  }

  /// Checks the run without a crash, with which the other runs are compared.
  func checkWhole(_ whole: Life, _ series: Series) throws {
    if whole.stepCount == 0 { throw fail(series.story, ScheduleProblem.noStepText) }
    try check(whole, against: whole, series)
    if checkState == nil, whole.journal.records.isEmpty {
      throw fail(
        series.story,
        "No value was recorded, so a restart has nothing to resume from. Record operations in the "
          + "journal that the closure receives, as in "
          + "ResultOperation { … }.recorded(as: \"build\", in: journal)."
      )
    }
  }

  func checkBegun(_ life: Life, _ series: Series) throws {
    let begun = life.simulation.simulation.withState { $0.begunKeys }
    let again = life.recorded.filter { begun.contains($0) }
    if !again.isEmpty {
      throw fail(series.story, "Then recorded operations executed again: \(Self.list(again)).")
    }
  }

  /// Checks the result of a series of runs.
  func check(_ life: Life, against whole: Life, _ series: Series) throws {
    try checkEnd(life, against: whole, series.story)
    try checkRecords(life, against: whole, series.story)
    do {
      try checkState?(series.state)
    } catch {
      throw fail(
        series.story,
        "In the end, the check of the external state threw: \(error)",
        underlying: error
      )
    }
  }

  private func checkEnd(_ life: Life, against whole: Life, _ story: String) throws {
    if let problem = ScheduleProblem(limitOf: life.simulation.simulation) {
      throw fail(story, problem.description)
    }
    let (operation, expected) = (life.operation, whole.operation)
    guard let outcome = operation.outcome, operation.isFinished else {
      let strays = life.simulation.strays.map { " \($0)" }.joined()
      throw fail(story, "“\(operation.label)” has not ended: \(operation.explain()).\(strays)")
    }
    guard outcome.kind == expected.outcome?.kind else {
      let word = expected.outcome?.kind.rawValue ?? ""
      throw fail(story, "The outcome of “\(operation.label)” was “\(word)”, and then: \(outcome)")
    }
    let values = (operation.erasedValue, expected.erasedValue)
    if !Self.mayBeEqual(values.0, values.1) {
      let texts = (Self.text(values.0), Self.text(values.1))
      throw fail(story, "The value of “\(operation.label)” was \(texts.1), and then \(texts.0).")
    }
  }

  private func checkRecords(_ life: Life, against whole: Life, _ story: String) throws {
    let (keys, expectedKeys) = (Set(life.journal.keys), Set(whole.journal.keys))
    let missing = expectedKeys.subtracting(keys).sorted()
    let surplus = keys.subtracting(expectedKeys).sorted()
    if !missing.isEmpty || !surplus.isEmpty {
      throw fail(
        story,
        "In the end, the journal lacks \(Self.list(missing)), and has in addition "
          + "\(Self.list(surplus))."
      )
    }
    for record in life.journal.records {
      let old = whole.journal.records.first { $0.key == record.key }?.value
      if !Self.mayBeEqual(record.value, old) {
        let texts = (Self.text(record.value), Self.text(old))
        throw fail(story, "The record of “\(record.key)” was \(texts.1), and then \(texts.0).")
      }
    }
  }

  private static func text(_ value: (any Sendable)?) -> String { value.map { "\($0)" } ?? "none" }

  /// Returns whether two values are equal, or can't be compared.
  private static func mayBeEqual(_ a: (any Sendable)?, _ b: (any Sendable)?) -> Bool {
    guard let a, let b else { return a == nil && b == nil }
    guard let a = a as? any Equatable else { return true }
    return isEqual(a, b)
  }

  private static func isEqual<Value: Equatable>(_ a: Value, _ b: Any) -> Bool { (b as? Value) == a }
}
