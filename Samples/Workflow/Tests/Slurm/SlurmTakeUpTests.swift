import Foundation
import Testing
import WorkflowDocument
import WorkflowRunner

@testable import WorkflowSlurm

extension SlurmTests {
  /// The first runner is one that isn't listened to any more: what it does doesn't matter.
  @Suite(.serialized) struct TakingUp {
    private func attempt(_ line: String, in world: SlurmWorld) throws -> StepAttempt {
      try world.attempt(line) { $0.step.matrix = [MatrixValue(name: "os", value: "linux")] }
    }

    @Test func `a running step is waited for, and isn't started again`() async throws {
      let world = try SlurmWorld()
      let reports = SlurmReports()
      let attempt = try attempt(
        "echo begun >> effects; echo begun; while [ ! -e go ]; do sleep 0.05 || true; done; echo end; exit 5",
        in: world
      )
      let first = Task { try await world.engine.run(attempt, report: reports.of(attempt)) }
      try await reports.wait { !$0.lines.isEmpty }
      let later = SlurmReports()
      let engine = SlurmEngine()
      let handle = try #require(reports.handle)
      let second = Task {
        try await engine.takeUp(attempt, handle: handle, report: later.of(attempt))
      }
      try await later.wait { !$0.nodes.isEmpty }
      try SlurmPlace.write("", to: world.path + "/go")
      let exit = try await second.value
      #expect(exit?.status == .exited(5))
      #expect(exit?.node == later.nodes.first)
      #expect(later.lines == ["begun", "end"])
      #expect(world.text("effects") == "begun")
      _ = try await first.value
    }

    @Test func `the end of a step that ended in the meantime is read`() async throws {
      let world = try SlurmWorld()
      let reports = SlurmReports()
      let attempt = try attempt("echo begun >> effects; exit 4", in: world)
      let exit = try await world.engine.run(attempt, report: reports.of(attempt))
      let handle = try #require(reports.handle)
      let later = SlurmReports()
      let taken = try await SlurmEngine().takeUp(
        attempt,
        handle: handle,
        report: later.of(attempt)
      )
      #expect(taken == exit)
      // Both know how long it ran, whenever they looked.
      let times = [reports, later].map { reports in
        reports.all.filter { if case .ran = $0 { true } else { false } }
      }
      #expect(times[0].count == 1 && times[0] == times[1])
      #expect(world.text("effects") == "begun")
    }

    @Test func `a step that disappeared without a trace isn't taken up`() async throws {
      let world = try SlurmWorld()
      let attempt = try world.attempt("true")
      let place = try SlurmPlace(newFor: attempt)
      #expect(
        try await world.engine.takeUp(attempt, handle: "4000000 \(place.path)") { _ in } == nil
      )
      #expect(try await world.engine.takeUp(attempt, handle: "12 /no/such/folder") { _ in } == nil)
      #expect(try await world.engine.takeUp(attempt, handle: "odd") { _ in } == nil)
    }

    @Test func `a step that was submitted and not reported yet isn't submitted again`() async throws
    {
      let world = try SlurmWorld()
      let attempt = try world.attempt(
        "echo begun >> effects; echo begun; while [ ! -e go ]; do sleep 0.05 || true; done"
      )
      let reports = SlurmReports()
      let first = Task { try await world.engine.run(attempt, report: reports.of(attempt)) }
      try await reports.wait { !$0.lines.isEmpty }
      let later = SlurmReports()
      let second = Task { try await SlurmEngine().run(attempt, report: later.of(attempt)) }
      try await later.wait { !$0.nodes.isEmpty }
      try SlurmPlace.write("", to: world.path + "/go")
      #expect(try await second.value == first.value)
      #expect(world.text("effects") == "begun")
      #expect(later.nodes == reports.nodes)
    }

    @Test func `a step that is taken up can be cancelled`() async throws {
      let world = try SlurmWorld()
      let attempt = try world.attempt("echo $$; exec sleep 600")
      let reports = SlurmReports()
      let first = Task { try await world.engine.run(attempt, report: reports.of(attempt)) }
      try await reports.wait { !$0.lines.isEmpty }
      let later = SlurmReports()
      let handle = try #require(reports.handle)
      let second = Task {
        try await SlurmEngine().takeUp(attempt, handle: handle, report: later.of(attempt))
      }
      try await later.wait { !$0.nodes.isEmpty }
      second.cancel()
      await #expect(throws: CancellationError.self) { try await second.value }
      #expect(!isRunning(try #require(Int(reports.lines[0]))))
      #expect(try await first.value.status == .signalled(15))
    }
  }
}
