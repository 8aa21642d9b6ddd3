import Foundation
import Synchronization
import Testing
import WorkflowDocument

@testable import WorkflowRunner

/// A file that a step was writing when it failed or was stopped doesn't prove that it is up to date.
@Suite(.timeLimit(.minutes(5))) struct UnfinishedOutputTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  /// The guards of a step that writes `out`.
  private static let guards: [StepCondition] = [
    .missing([Template(text: "out")]),
    .newer(inputs: [Template(text: "source")], outputs: [Template(text: "out")]),
  ]

  /// A step that writes a half of `out`, and all of it where there is a file `fixed`.
  private func workflow(_ condition: StepCondition, else command: String) -> Workflow {
    var build = Step("build", "echo half > out; [ -e fixed ] || { \(command); }; echo all >> out")
    build.when = [condition]
    build.rollback = .shell(Template(text: "echo undone"))
    return Workflow([build, Step("publish", "cat out; [ ! -e broken ]", needs: ["build"])])
  }

  private func run(
    _ workflow: Workflow,
    in place: RunFolder,
    _ report: @escaping @Sendable (WorkflowRun, RunEvent) -> Void = { _, _ in }
  ) async throws -> Events {
    var options = WorkflowRun.Options(jobs: 2)
    options.file = folder.path + "/workflow.yml"
    let events = Events()
    let itself = Mutex<WorkflowRun?>(nil)
    let run = WorkflowRun(workflow, in: place, engine: LocalEngine(), options: options) {
      events.add($0)
      if let run = itself.withLock({ $0 }) { report(run, $0) }
    }
    itself.withLock { $0 = run }
    defer { itself.withLock { $0 = nil } }
    _ = try await run.run()
    return events
  }

  private func outcome(_ events: Events) -> String {
    events.ends["build"].map { "\($0.outcome)" } ?? "none"
  }

  @Test(arguments: guards, [true, false])
  func `A step that failed runs again, in the same run and in the next`(
    condition: StepCondition,
    isResumed: Bool
  ) async throws {
    try folder.write("", to: "source")
    let workflow = workflow(condition, else: "exit 1")
    let first = try folder.run()
    #expect(outcome(try await run(workflow, in: first)) == "failed")
    #expect(try folder.lines("out") == ["half"])
    try folder.write("", to: "fixed")
    let second = try await run(workflow, in: isResumed ? first : try folder.run())
    #expect(outcome(second) == "succeeded")
    #expect(second.lines == ["half", "all"])
    #expect(outcome(try await run(workflow, in: try folder.run())) == "skipped")
  }

  @Test(arguments: guards, [true, false])
  func `A step that was cancelled or killed runs again`(
    condition: StepCondition,
    isKilled: Bool
  ) async throws {
    try folder.write("", to: "source")
    let workflow = workflow(condition, else: "echo begun; sleep 60")
    let first = try folder.run()
    let stopped = try await run(workflow, in: first) { run, event in
      guard case .printed(_, "begun") = event.kind else { return }
      if isKilled { run.kill() } else { run.cancel(because: "of the test") }
    }
    #expect(outcome(stopped) != "succeeded")
    try folder.write("", to: "fixed")
    #expect(outcome(try await run(workflow, in: first)) == "succeeded")
    #expect(try folder.lines("out") == ["half", "all"])
  }

  @Test(arguments: guards)
  func `A step that was undone runs again`(condition: StepCondition) async throws {
    try folder.write("", to: "source")
    try folder.write("", to: "fixed")
    try folder.write("", to: "broken")
    let workflow = workflow(condition, else: "exit 1")
    let first = try await run(workflow, in: try folder.run())
    #expect(first.lines.contains("undone"))
    try FileManager.default.removeItem(atPath: folder.path + "/broken")
    #expect(outcome(try await run(workflow, in: try folder.run())) == "succeeded")
  }

  @Test func `What has to be missing, with require, isn't excused`() async throws {
    var build = Step("build", "echo half > out; exit 1")
    build.require = [.missing([Template(text: "out")])]
    let workflow = Workflow([build])
    _ = try await run(workflow, in: try folder.run())
    let second = try await run(workflow, in: try folder.run())
    #expect(second.started.isEmpty)
    #expect(outcome(second) == "failed")
  }
}
