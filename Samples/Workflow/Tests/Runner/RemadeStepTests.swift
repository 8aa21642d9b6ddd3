import AdvancedOperations
import AdvancedOperationsTesting
import Foundation
import SampleTestSupport
import Testing
import WorkflowDocument

@testable import WorkflowRunner

/// Steps that are made anew, and what was made of them.
@Suite struct RemadeStepTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private static func step(_ id: String, needs: [String] = [], isUndone: Bool = false) -> Step {
    var step = Step(id, needs: needs)
    if isUndone { step.rollback = .shell(Template(text: "undo")) }
    return step
  }

  /// Only the first step can be undone.
  private static let chain = Workflow([
    step("install", isUndone: true), step("configure", needs: ["install"]),
    step("verify", needs: ["configure"]),
  ])

  @Test func `A step runs again after what it needs was undone, however often that failed`() throws
  {
    let place = try folder.run()
    try SimulatedRun(Self.chain, in: place, plays: ["verify": [.exit(1)]]).end()
    let failing = SimulatedRun(Self.chain, in: place, plays: ["install": [.exit(1)]])
    #expect(try failing.end().failed == 1)
    #expect(failing.engine.begins == ["install"])
    let last = SimulatedRun(Self.chain, in: place)
    #expect(try last.end().succeeded == 3)
    #expect(last.engine.begins == ["install", "configure", "verify"])
  }

  @Test func `A step that ran again when the runner was killed isn't done`() {
    let success = StepEnd(outcome: .succeeded)
    let records: [JournalRecord] = [
      .ended(step: "install", end: success), .ended(step: "configure", end: success),
      .rollbackBegun(step: "install"), .rolledBack(step: "install"),
      .ended(step: "install", end: success),
      .started(step: "configure", attempt: 2, node: nil, handle: "h"),
    ]
    #expect(RunProgress(records, of: Self.chain).done == ["install"])
    #expect(RunProgress(records.dropLast(), of: Self.chain).done == ["install"])
    let again = records + [.ended(step: "configure", end: success)]
    #expect(RunProgress(again, of: Self.chain).done == ["install", "configure"])
  }

  @Test(arguments: [0.0, 0.5, 1.5])
  func `What earlier processes have finished is undone in its order, or not at all`(
    seconds: Double
  ) throws {
    let place = try folder.run()
    let steps = (0..<20).map { number in
      Self.step("s\(number)", needs: number > 0 ? ["s\(number - 1)"] : [], isUndone: true)
    }
    let workflow = Workflow(steps + [Self.step("last", needs: ["s19"])])
    try SimulatedRun(Workflow(steps), in: place).end()
    let resumed = SimulatedRun(workflow, in: place, plays: ["last": [.endless()]]) {
      $0.acceptsChanges = true
    }
    let run = resumed.run
    // The first cancel comes before the steps that are done have ended in this process.
    resumed.at(.seconds(seconds)) { run.cancel(because: "Ctrl-C") }
    try resumed.end()
    let undone = resumed.engine.begins.filter { $0.hasPrefix("undo") }
    #expect(undone == (0..<20).reversed().map { "undo-s\($0)" })
  }

  @Test func `Of a run of which nothing is left nothing is undone`() throws {
    let place = try folder.run()
    try SimulatedRun(Self.chain, in: place).end()
    let resumed = SimulatedRun(Self.chain, in: place)
    resumed.run.cancel(because: "Ctrl-C")
    #expect(try resumed.end().succeeded == 3)
    #expect(resumed.engine.begins == [])
  }

  @Test func `A step about outcomes runs again when the steps that it names run again`() throws {
    let place = try folder.run()
    var alarm = Self.step("alarm")
    alarm.when = [.outcome(.step("a", is: .failed))]
    let workflow = Workflow([Self.step("a"), alarm])
    for _ in 0..<2 {
      let failing = SimulatedRun(workflow, in: place, plays: ["a": [.exit(1)]])
      try failing.end()
      #expect(failing.engine.begins == ["a", "alarm"])
    }
    let good = SimulatedRun(workflow, in: place)
    #expect(try good.end().skipped == 1)
    #expect(good.engine.begins == ["a"])
    let nothing = SimulatedRun(workflow, in: place)
    #expect(try nothing.end().isSuccess)
    #expect(nothing.engine.begins == [])
  }

  /// Whatever fails, is cancelled or killed on the way: when all is done, each step was made after
  /// those that it needs, and none is undone.
  @Test(arguments: Effort.seeds(200))
  func `What is done in the end was made in order`(seed: UInt64) throws {
    var numbers = Numbers(seed)
    let workflow = Self.workflow(&numbers)
    var place = try folder.run()
    var begins: [String] = []
    for _ in 0..<Int.random(in: 1...6, using: &numbers) {
      let plays = workflow.steps.reduce(into: [String: [ScriptedEngine.Play]]()) { plays, step in
        let fails = Int.random(in: 0..<4, using: &numbers) == 0
        plays[step.id] = [.exit(fails ? 1 : 0)]
      }
      let run = SimulatedRun(workflow, in: place, seed: numbers.next(), plays: plays)
      let time = Duration.milliseconds(Int.random(in: 0...6_000, using: &numbers))
      if Bool.random(using: &numbers) {
        let cancelled = run.run
        run.at(time) { cancelled.cancel(because: "Ctrl-C") }
      }
      // The machine goes down at some time: what is known is what there was then.
      let next = try folder.run()
      let (engine, journal) = (run.engine, place.journal)
      run.at(Duration.milliseconds(Int.random(in: 0...8_000, using: &numbers))) {
        try? FileManager.default.copyItem(atPath: journal, toPath: next.journal)
        try? engine.begins.joined(separator: "\n")
          .write(toFile: next.path + "/begins", atomically: true, encoding: .utf8)
      }
      try run.end()
      if let known = try? String(contentsOfFile: next.path + "/begins", encoding: .utf8) {
        begins += known.split(separator: "\n").map(String.init)
        place = next
      } else {
        begins += engine.begins
      }
    }
    let last = SimulatedRun(workflow, in: place)
    #expect(try last.end().succeeded == workflow.steps.count)
    begins += last.engine.begins
    for step in workflow.steps {
      let made = begins.lastIndex(of: step.id) ?? -1
      #expect(made > begins.lastIndex(of: "undo-\(step.id)") ?? -1, "\(step.id) of \(begins)")
      for need in step.needs {
        #expect(made > begins.lastIndex(of: need) ?? .max, "\(step.id) for \(need) of \(begins)")
      }
    }
  }

  private static func workflow(_ numbers: inout Numbers) -> Workflow {
    let ids = (0..<Int.random(in: 2...6, using: &numbers)).map { "s\($0)" }
    let steps = ids.enumerated().map { index, id in
      let needs = ids[..<index].filter { _ in Bool.random(using: &numbers) }
      return step(id, needs: Array(needs), isUndone: Bool.random(using: &numbers))
    }
    return Workflow(steps)
  }

  private struct Numbers: RandomNumberGenerator {
    private let source: @Sendable () -> UInt64

    init(_ seed: UInt64) { source = SimulatedEnvironment(seed: seed).environment.random }

    mutating func next() -> UInt64 { source() }
  }
}
