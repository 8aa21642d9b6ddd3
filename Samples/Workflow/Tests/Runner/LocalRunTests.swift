import Foundation
import Testing
import WorkflowDocument

@testable import WorkflowRunner

/// Runs of real commands.
@Suite struct LocalRunTests {
  let folder: TemporaryFolder
  let events = Events()

  init() throws { folder = try TemporaryFolder() }

  private func run(
    _ workflow: Workflow,
    jobs: Int = 4,
    in run: RunFolder? = nil
  ) async throws -> RunEnd {
    var options = WorkflowRun.Options(jobs: jobs)
    options.file = folder.path + "/workflow.yml"
    let run = try run ?? folder.run()
    let events = events
    return try await WorkflowRun(workflow, in: run, engine: LocalEngine(), options: options) {
      events.add($0)
    }.run()
  }

  @Test func `Steps run in the order of their needs, and outputs reach later ones`() async throws {
    var build = Step("build", "echo building; echo version=1.2 >> \"$WORKFLOW_OUTPUT\"")
    build.outputs = ["version"]
    var pack = Step(
      id: "pack",
      command: .arguments([
        Template(text: "echo"),
        Template([.text("version "), .output(step: "build", name: "version")]),
      ])
    )
    pack.needs = ["build"]
    let end = try await run(Workflow([pack, build]))
    #expect(end.succeeded == 2 && end.failed == 0)
    #expect(events.lines == ["building", "version 1.2"])
    #expect(
      events.words == [
        "build started 1", "build succeeded", "pack started 1", "pack succeeded",
      ]
    )
  }

  @Test func `A step that fails keeps those that need it from running`() async throws {
    let end = try await run(
      Workflow([
        Step("a", "exit 3"), Step("b", needs: ["a"]), Step("c", needs: ["b"]),
      ])
    )
    #expect((end.succeeded, end.failed, end.cancelled) == (0, 1, 2))
    #expect(events.ends["a"]?.reason == "exited with 3")
    #expect(events.ends["c"]?.reason == "not run, because ‘a’ failed")
    #expect(end.failures == "a: exited with 3\n2 steps were not run")
  }

  @Test func `A run that is resumed runs what had not finished, and only that`() async throws {
    let workflow = Workflow([
      Step("a", "echo a >> effects"), Step("b", "echo b >> effects; test -e ready", needs: ["a"]),
      Step("c", "echo c >> effects", needs: ["b"]),
    ])
    let place = try folder.run()
    _ = try await run(workflow, in: place)
    #expect(place.summary().state != .interrupted)
    try folder.write("", to: "ready")
    let end = try await run(workflow, in: place)
    #expect(try folder.lines("effects") == ["a", "b", "b", "c"])
    #expect(end.succeeded == 3)
    #expect(events.ends["a"]?.isFromJournal == true)
  }
}
