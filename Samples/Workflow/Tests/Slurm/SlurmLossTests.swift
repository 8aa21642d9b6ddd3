import Foundation
import Testing
import WorkflowDocument
import WorkflowRunner

@testable import WorkflowSlurm

extension SlurmTests {
  /// What takes its time, since Slurm misses a node only after a while: not for every day.
  @Suite struct Losses {
    @Test func `a step whose node was lost in the meantime says so`() async throws {
      let world = try SlurmWorld()
      let reports = SlurmReports()
      let attempt = try world.attempt("echo begun; exec sleep 600")
      let first = Task { try await world.engine.run(attempt, report: reports.of(attempt)) }
      try await reports.wait { !$0.lines.isEmpty }
      let node = try #require(reports.nodes.first)
      try SlurmServers.command("kill-node", node)
      defer { try? SlurmServers.command("restart-node", node) }
      let handle = try #require(reports.handle)
      await #expect(throws: SlurmNodeLost.self) {
        try await SlurmEngine().takeUp(attempt, handle: handle) { _ in }
      }
      await #expect(throws: SlurmNodeLost.self) { try await first.value }
    }

    @Test func `a step whose node is lost runs on the other one as its next attempt`() async throws
    {
      let world = try SlurmWorld()
      let reports = SlurmReports()
      let first = try world.attempt("echo $$; exec sleep 600")
      let task = Task { try await world.engine.run(first, report: reports.of(first)) }
      try await reports.wait { !$0.lines.isEmpty }
      let node = try #require(reports.nodes.first)
      try SlurmServers.command("kill-node", node)
      defer { try? SlurmServers.command("restart-node", node) }
      let error = await #expect(throws: SlurmNodeLost.self) { try await task.value }
      #expect(error?.node == node)
      let loss: (any Error)? = error
      #expect(loss is any AttemptLost)
      let exit = try await world.engine.run(try world.attempt("true", number: 2)) { _ in }
      #expect(exit == StepExit(.exited(0), node: node == "n1" ? "n2" : "n1"))
    }

    @Test func `a controller that is away for a while delays steps and loses none`() async throws {
      let world = try SlurmWorld()
      let running = SlurmReports()
      let waiting = SlurmReports()
      let first = try world.attempt(
        "echo begun; while [ ! -e go ]; do sleep 0.05 || true; done",
        id: "first"
      )
      let second = try world.attempt("echo ran >> second", id: "second")
      async let one = world.engine.run(first, report: running.of(first))
      try await running.wait { !$0.lines.isEmpty }
      try SlurmServers.command("stop-controller")
      async let two = world.engine.run(second, report: waiting.of(second))
      try await waiting.wait { $0.waits.contains { $0.hasPrefix("Slurm's controller") } }
      try SlurmPlace.write("", to: world.path + "/go")
      try SlurmServers.command("restart-controller")
      #expect(try await [one, two].allSatisfy(\.isSuccess))
      #expect(world.text("second") == "ran")
    }

    @Test func `a controller that stays away is the reason, after the patience`() async throws {
      let world = try SlurmWorld { $0.patience = .milliseconds(100) }
      try SlurmServers.command("stop-controller")
      defer { try? SlurmServers.command("restart-controller") }
      let error = await #expect(throws: SlurmError.self) {
        try await world.engine.run(try world.attempt("true")) { _ in }
      }
      guard case .unavailable(let message, _) = error else {
        Issue.record("\(String(describing: error))")
        return
      }
      #expect(message.contains("Unable to contact slurm controller"))
    }

    @Test func `a job that a killed controller forgot before it began is submitted again`()
      async throws
    {
      let world = try SlurmWorld { $0.patience = .seconds(24) }
      let all = ResourceAmount(4)
      let blockers = SlurmReports()
      let others = try (1...2).map { number in
        let attempt = try world.attempt(
          "echo begun; while [ ! -e go ]; do sleep 0.05 || true; done",
          id: "blocker\(number)"
        ) { $0.step.uses["cpu"] = all }
        return Task { try await world.engine.run(attempt, report: blockers.of(attempt)) }
      }
      try await blockers.wait { $0.lines.count == 2 }
      // What it had written down before the job came is what it knows afterwards.
      try SlurmServers.command("stop-controller")
      let state = SlurmServers.folder + "/state"
      try FileManager.default.copyItem(atPath: state, toPath: state + "-before")
      try SlurmServers.command("restart-controller")
      let reports = SlurmReports()
      let attempt = try world.attempt("echo ran >> ran", id: "waiting") {
        $0.step.uses["cpu"] = all
      }
      let task = Task { try await world.engine.run(attempt, report: reports.of(attempt)) }
      try await reports.wait { $0.waits.contains { $0.contains("Slurm: ") } }
      try SlurmServers.command("kill-controller")
      try FileManager.default.removeItem(atPath: state)
      try FileManager.default.moveItem(atPath: state + "-before", toPath: state)
      try SlurmServers.command("restart-controller")
      try SlurmPlace.write("", to: world.path + "/go")
      #expect(try await task.value.isSuccess)
      for other in others { #expect(try await other.value.isSuccess) }
      #expect(world.text("ran") == "ran")
    }
  }
}
