import Foundation
import Testing
import WorkflowDocument

@testable import WorkflowRunner

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// Runs of real commands.
@Suite(.timeLimit(.minutes(5))) struct LocalRunTests {
  let folder: TemporaryFolder
  let events = Events()

  init() throws { folder = try TemporaryFolder() }

  private func run(
    _ workflow: Workflow,
    jobs: Int = 4,
    in run: RunFolder? = nil,
    _ report: @escaping @Sendable (RunEvent) -> Void = { _ in }
  ) async throws -> RunEnd {
    var options = WorkflowRun.Options(jobs: jobs)
    options.file = folder.path + "/workflow.yml"
    let run = try run ?? folder.run()
    let events = events
    return try await WorkflowRun(workflow, in: run, engine: LocalEngine(), options: options) {
      report($0)
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

  @Test func `Lines are reported while the command runs`() async throws {
    let go = folder.path + "/go"
    let workflow = Workflow([
      Step("a", "echo first; while [ ! -e go ]; do sleep 0.01 || true; done; printf second")
    ])
    _ = try await run(workflow) { event in
      if case .printed(_, "first") = event.kind {
        _ = FileManager.default.createFile(atPath: go, contents: nil)
      }
    }
    #expect(events.lines == ["first", "second"])
  }

  @Test func `A command's end counts at once, however long its lines take to be shown`()
    async throws
  {
    let count = 30_000
    var flood = Step("flood", "seq \(count)")
    flood.rollback = .shell(Template(text: "echo undone; touch undone"))
    let workflow = Workflow([
      flood, Step("next", "echo next", needs: ["flood"]), Step("last", "exit 1", needs: ["next"]),
    ])
    let undone = folder.path + "/undone"
    // Nothing more is shown before all of the run has happened, up to the rollback.
    let end = try await run(workflow, jobs: 1) { event in
      guard case .printed("flood", "1") = event.kind else { return }
      for _ in 0..<120_000 where !FileManager.default.fileExists(atPath: undone) { usleep(1_000) }
    }
    #expect((end.succeeded, end.failed, end.undone) == (1, 1, 1))
    let lines = events.lines
    #expect(lines.prefix(count) == (1...count).map { "\($0)" }[...])
    #expect(lines.dropFirst(count) == ["next", "undone"])
    #expect(
      events.words == [
        "flood started 1", "flood succeeded", "next started 1", "next succeeded", "last started 1",
        "last failed", "flood rolling back", "flood rolled back",
      ]
    )
    let kinds = events.all.map(\.kind)
    let lastLine = kinds.firstIndex(of: .printed(step: "flood", line: "\(count)"))
    let ended = kinds.firstIndex { if case .ended("flood", _) = $0 { true } else { false } }
    #expect(try #require(lastLine) < #require(ended))
    // What the journal and the folder keep says when it ended, and not when that was shown.
    let times = Dictionary(
      events.all.compactMap { event in event.kind.step.map { ($0, event.time) } }
    ) { first, _ in first }
    #expect(try events.ends["flood"]?.duration ?? .zero < #require(times["next"]))
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
