import Foundation
import Testing
import WorkflowDocument

@testable import WorkflowRunner

extension SlurmTests {
  @Suite struct Ends {
    @Test func `a cancel reaches the step's processes, whose end is awaited`() async throws {
      let world = try SlurmWorld()
      let reports = SlurmReports()
      let attempt = try world.attempt(
        "trap 'echo asked; kill $child; exit 7' TERM; sleep 600 & child=$!; echo $$ $child; wait"
      )
      let task = Task { try await world.engine.run(attempt, report: reports.add) }
      try await reports.wait { !$0.lines.isEmpty }
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
      let processes = reports.lines[0].split(separator: " ").compactMap { Int($0) }
      #expect(processes.count == 2)
      #expect(processes.filter(isRunning) == [])
      #expect(reports.lines.dropFirst().first == "asked")
      #expect(try await world.jobs().isEmpty)
    }

    @Test func `what doesn't listen is killed after the grace period`() async throws {
      let world = try SlurmWorld()
      let reports = SlurmReports()
      let attempt = try world.attempt(
        "trap 'echo asked' TERM; echo $$; while :; do sleep 0.1; done"
      ) { $0.gracePeriod = .milliseconds(300) }
      let task = Task { try await world.engine.run(attempt, report: reports.add) }
      try await reports.wait { !$0.lines.isEmpty }
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
      #expect(!isRunning(try #require(Int(reports.lines[0]))))
      #expect(reports.lines.contains("asked"))
    }

    @Test(arguments: [1, 2]) func `what is cancelled while it waits never begins`(
      arraysFrom: Int
    ) async throws {
      let world = try SlurmWorld { $0.arraysFrom = arraysFrom == 1 ? 1 : nil }
      let reports = SlurmReports()
      let attempt = try world.attempt("touch begun") {
        $0.step.uses["cpu"] = ResourceAmount(4)
        $0.step.matrix = [MatrixValue(name: "os", value: "linux")]
      }
      let blockers = SlurmReports()
      let others = try (1...2).map { number in
        let attempt = try world.attempt("echo begun; exec sleep 600", id: "blocker\(number)") {
          $0.step.uses["cpu"] = ResourceAmount(4)
        }
        return Task { try await world.engine.run(attempt, report: blockers.add) }
      }
      try await blockers.wait { $0.lines.count == 2 }
      let task = Task { try await world.engine.run(attempt, report: reports.add) }
      try await reports.wait { !$0.waits.isEmpty }
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
      for other in others { other.cancel() }
      for other in others {
        await #expect(throws: CancellationError.self) { try await other.value }
      }
      #expect(try await world.jobs().isEmpty)
      #expect(world.text("begun") == nil)
      #expect(reports.nodes.isEmpty)
    }

    @Test func `somebody who cancels the job in Slurm is the reason`() async throws {
      let world = try SlurmWorld()
      let reports = SlurmReports()
      let attempt = try world.attempt("echo begun; exec sleep 600")
      let task = Task { try await world.engine.run(attempt, report: reports.add) }
      try await reports.wait { !$0.lines.isEmpty }
      let job = try #require(reports.handle?.split(separator: " ").first.map(String.init))
      #expect(try await world.engine.commands.run("scancel", [job]).code == 0)
      // The command was ended by the signal, as the script could still say.
      #expect(try await task.value.status == .signalled(15))
    }

    @Test func `a step whose node is lost runs on the other one as its next attempt`() async throws
    {
      let world = try SlurmWorld()
      let reports = SlurmReports()
      let first = try world.attempt("echo $$; exec sleep 600")
      let task = Task { try await world.engine.run(first, report: reports.add) }
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
        "echo begun; while [ ! -e go ]; do sleep 0.05; done",
        id: "first"
      )
      let second = try world.attempt("echo ran >> second", id: "second")
      async let one = world.engine.run(first, report: running.add)
      try await running.wait { !$0.lines.isEmpty }
      try SlurmServers.command("kill-controller")
      async let two = world.engine.run(second, report: waiting.add)
      try await waiting.wait { $0.waits.contains { $0.hasPrefix("Slurm's controller") } }
      try SlurmPlace.write("", to: world.path + "/go")
      try SlurmServers.command("restart-controller")
      #expect(try await [one, two].allSatisfy(\.isSuccess))
      #expect(world.text("second") == "ran")
    }

    @Test func `a controller that stays away is the reason, after the patience`() async throws {
      let world = try SlurmWorld { $0.patience = .milliseconds(100) }
      try SlurmServers.command("kill-controller")
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
  }
}
