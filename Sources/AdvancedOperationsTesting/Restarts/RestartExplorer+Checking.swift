import AdvancedOperations
import CoreOperations

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

  /// Steps that the closure takes are steps at which the process can't die.
  func checkNotRun(_ run: SteppedRun, _ series: Series) throws {
    let purpose = "the process can die after each of them"
    if let remark = run.remark(aboutRunBefore: "exploreRestarts", purpose) {
      throw fail(series.story, "Then \(remark)")
    }
  }

  /// Checks the life without a death, to which others are compared.
  func checkWhole(_ whole: Life, _ series: Series) throws {
    if whole.stepCount == 0 { throw fail(series.story, ScheduleProblem.noStepText) }
    try check(whole, against: whole, series)
    if checkWorld == nil, whole.journal.records.isEmpty {
      throw fail(
        series.story,
        "Nothing was recorded, so a restart has nothing to go on from. Give operations a key and "
          + "the journal that the closure is given, as in ResultOperation(key: \"build\", journal: "
          + "journal) { … }."
      )
    }
  }

  func checkBegun(_ life: Life, _ series: Series) throws {
    let begun = life.simulation.simulation.withState { $0.begunKeys }
    let again = life.recorded.filter { begun.contains($0) }
    if !again.isEmpty {
      throw fail(series.story, "Then it executed again what was recorded: \(Self.list(again)).")
    }
  }

  /// Checks what a series of lives has come to.
  func check(_ life: Life, against whole: Life, _ series: Series) throws {
    try checkEnd(life, against: whole, series.story)
    try checkRecords(life, against: whole, series.story)
    do {
      try checkWorld?(series.world)
    } catch {
      throw fail(
        series.story,
        "In the end, the check of the world threw: \(error)",
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
    guard outcome.word == expected.outcome?.word else {
      let word = expected.outcome?.word ?? ""
      throw fail(story, "“\(operation.label)” has \(word) before, and then: \(outcome)")
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
