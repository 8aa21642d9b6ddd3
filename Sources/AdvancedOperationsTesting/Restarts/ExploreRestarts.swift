public import AdvancedOperations
import CoreOperations

/// Lets the process die at every step of a workflow with a journal, and checks what a restart makes
/// of what was recorded.
///
/// The workflow is run once without a death. Then it is begun again and again, stopped after one
/// step more each time, and begun anew with what is in the journal by then, and with nothing else;
/// at random it dies a second time. What only a part of the journal survives is tried as well, for
/// each part that begins with the first record.
///
/// ```swift
/// try exploreRestarts { simulation, journal in
///   let build = ResultOperation(key: "build", journal: journal) { try await compile("app") }
///   let pack = build.then(key: "pack", journal: journal) { try await archive($0) }
///   AdvancedOperationQueue(environment: simulation.environment).addOperations([build, pack])
///   return pack
/// }
/// ```
///
/// Whatever happened before, after the last restart
///
/// - the operation ends, as it did without a death, and with the same value;
/// - no operation has begun to execute whose value was recorded before the restart;
/// - the journal has the same keys as without a death, with the same values.
///
/// So a test fails that keeps something in memory which a restart doesn't bring back, that gives
/// one key to two operations which may run at the same time, or makes its keys of something that is
/// another the next time. Values that aren't `Equatable` are not compared. Two operations with one
/// key that run one after the other are no mistake that could be seen, because an attempt after
/// another one may find what that has recorded: the second has the value of the first each time.
///
/// Nothing of a process that has died goes on, and what was suspended in it is never resumed: a
/// task of it stays in memory until the tests end. What the workflow changes outside of its
/// operations, in a database for instance, is as a death leaves it.
///
/// - Parameters:
///   - schedules: In how many orders of its steps the workflow dies; one at least.
///   - seed: Where chance begins.
///   - fileID: Where this is called.
///   - line: The line of that.
///   - workflow: Makes the operations, adds them to queues of the simulation, and returns the one
///     whose end and value are compared. Called for each life; everything that the workflow uses
///     has to be made in it. It doesn't run the simulation.
/// - Returns: How many deaths there were.
/// - Throws: ``ExpectationFailure`` at the first restart after which something isn't so, with the
///   seed, the step and what was recorded; what `workflow` throws.
/// - Complexity: O(s · n²) steps, s the number of schedules and n that of the steps of the
///   workflow.
@discardableResult
public func exploreRestarts(
  schedules: Int = 10,
  seed: UInt64 = 1,
  fileID: String = #fileID,
  line: Int = #line,
  of workflow: (SimulatedEnvironment, InMemoryJournal) throws -> AdvancedOperation
) throws -> Int {
  var deathCount = 0
  for number in 0..<max(schedules, 1) {
    let seed = seed &+ UInt64(number)
    let explorer = RestartExplorer(seed: seed, fileID: fileID, line: line)
    deathCount += try explorer.explore(workflow)
  }
  return deathCount
}

/// Runs one workflow in lives that end at different steps.
private struct RestartExplorer {
  typealias Workflow = (SimulatedEnvironment, InMemoryJournal) throws -> AdvancedOperation

  let seed: UInt64
  let fileID: String
  let line: Int

  /// From a start of the process to its death, or to the end of all steps.
  private struct Life {
    let simulation: SimulatedEnvironment
    let operation: AdvancedOperation
    let journal: InMemoryJournal
    /// What was recorded at its beginning.
    let recorded: [String]
    var stepCount = 0

    mutating func run(upTo limit: Int) {
      while stepCount < limit, simulation.step() { stepCount += 1 }
    }
  }

  /// Begins a life, which takes no step yet.
  private func begin(
    _ workflow: Workflow,
    _ seed: UInt64,
    with records: [InMemoryJournal.Record]
  ) throws -> Life {
    let simulation = SimulatedEnvironment(seed: seed)
    let journal = InMemoryJournal(records)
    let operation = try workflow(simulation, journal)
    return Life(
      simulation: simulation,
      operation: operation,
      journal: journal,
      recorded: records.map(\.key)
    )
  }

  /// Returns the number of deaths.
  func explore(_ workflow: Workflow) throws -> Int {
    var whole = try begin(workflow, seed, with: [])
    whole.run(upTo: .max)
    try check(whole, against: whole, "It was run without a death.")
    var generator = SplitMix64(seed: seed)
    var deathCount = 0
    for limit in 0..<whole.stepCount {
      // The same steps as in the whole life, up to its death.
      var life = try begin(workflow, seed, with: [])
      life.run(upTo: limit)
      var story = story(of: life)
      deathCount += 1
      if generator.next() % 2 == 0 {
        life = try begin(workflow, generator.next(), with: life.journal.records)
        life.run(upTo: Int(generator.next() % UInt64(whole.stepCount)))
        try checkBegun(life, story)
        story += " " + self.story(of: life)
        deathCount += 1
      }
      try finish(workflow, generator.next(), life.journal.records, like: whole, story)
    }
    for count in whole.journal.records.indices {
      let records = Array(whole.journal.records.prefix(count))
      let keys = Self.list(records.map(\.key))
      let story = "Of its journal, \(count) records have survived: \(keys)."
      try finish(workflow, generator.next(), records, like: whole, story)
      deathCount += 1
    }
    return deathCount
  }

  /// Begins with what was recorded, goes on to the end, and compares that.
  private func finish(
    _ workflow: Workflow,
    _ seed: UInt64,
    _ records: [InMemoryJournal.Record],
    like whole: Life,
    _ story: String
  ) throws {
    var life = try begin(workflow, seed, with: records)
    life.run(upTo: .max)
    try checkBegun(life, story)
    try check(life, against: whole, story)
  }

  private func story(of life: Life) -> String {
    "It died after \(life.stepCount) steps, with \(Self.list(life.journal.keys)) recorded."
  }

  private static func list(_ keys: [String]) -> String {
    keys.isEmpty ? "nothing" : keys.map { "“\($0)”" }.joined(separator: ", ")
  }

  // MARK: Checking

  private func fail(_ story: String, _ problem: String) -> ExpectationFailure {
    ExpectationFailure("\(story) \(problem)", seed: seed, fileID: fileID, line: line)
  }

  private func checkBegun(_ life: Life, _ story: String) throws {
    let begun = life.simulation.simulation.withState { $0.begunKeys }
    let again = life.recorded.filter { begun.contains($0) }
    if !again.isEmpty {
      throw fail(story, "Then it executed again what was recorded: \(Self.list(again)).")
    }
  }

  private func check(_ life: Life, against whole: Life, _ story: String) throws {
    let (operation, expected) = (life.operation, whole.operation)
    guard let outcome = operation.outcome, operation.isFinished else {
      let strays = life.simulation.strays.map { " \($0)" }.joined()
      throw fail(story, "“\(operation.label)” has not ended: \(operation.explain()).\(strays)")
    }
    guard outcome.word == expected.outcome?.word else {
      let word = expected.outcome?.word ?? ""
      throw fail(story, "“\(operation.label)” has \(word) before, and then: \(outcome)")
    }
    let values = (operation.erasedValue, expected.erasedValue)
    if !Self.mayBeEqual(values.0, values.1) {
      let texts = (Self.text(values.0), Self.text(values.1))
      throw fail(story, "The value of “\(operation.label)” was \(texts.1), and then \(texts.0).")
    }
    let (keys, expectedKeys) = (Set(life.journal.keys), Set(whole.journal.keys))
    let missing = expectedKeys.subtracting(keys).sorted()
    let surplus = keys.subtracting(expectedKeys).sorted()
    if !missing.isEmpty || !surplus.isEmpty {
      throw fail(
        story,
        "In the end, \(Self.list(missing)) was missing in the journal, and "
          + "\(Self.list(surplus)) was not expected."
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

  /// Whether two values are equal, or can't be compared.
  private static func mayBeEqual(_ a: (any Sendable)?, _ b: (any Sendable)?) -> Bool {
    guard let a, let b else { return a == nil && b == nil }
    guard let a = a as? any Equatable else { return true }
    return isEqual(a, b)
  }

  private static func isEqual<Value: Equatable>(_ a: Value, _ b: Any) -> Bool { (b as? Value) == a }
}
