import Foundation
import Testing
import WorkflowDocument
import WorkflowRunner

@testable import WorkflowSlurm

extension SlurmTests {
  @Suite struct Ends {
    @Test func `a cancel reaches the step's processes, whose end is awaited`() async throws {
      let world = try SlurmWorld()
      let reports = SlurmReports()
      let attempt = try world.attempt(
        // What the shell waits for mustn't end before the shell has got the signal.
        """
        trap '' TERM; sleep 600 & child=$!
        trap 'echo asked; kill -9 $child; exit 7' TERM; echo $$ $child; wait
        """
      )
      let task = Task { try await world.engine.run(attempt, report: reports.of(attempt)) }
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
        "trap 'echo asked' TERM; echo $$; while :; do sleep 0.1 || true; done"
      ) { $0.gracePeriod = .milliseconds(300) }
      let task = Task { try await world.engine.run(attempt, report: reports.of(attempt)) }
      try await reports.wait { !$0.lines.isEmpty }
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
      #expect(!isRunning(try #require(Int(reports.lines[0]))))
      #expect(reports.lines.contains("asked"))
    }

    @Test func `what is cancelled while it waits never begins`() async throws {
      let world = try SlurmWorld()
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
        return Task { try await world.engine.run(attempt, report: blockers.of(attempt)) }
      }
      try await blockers.wait { $0.lines.count == 2 }
      let task = Task { try await world.engine.run(attempt, report: reports.of(attempt)) }
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

    @Test func `a cancel of the job in Slurm is the reason`() async throws {
      let world = try SlurmWorld()
      let reports = SlurmReports()
      let attempt = try world.attempt("echo begun; exec sleep 600")
      let task = Task { try await world.engine.run(attempt, report: reports.of(attempt)) }
      try await reports.wait { !$0.lines.isEmpty }
      let job = try #require(reports.handle?.split(separator: " ").first.map(String.init))
      #expect(try await world.engine.commands.run("scancel", [job]).code == 0)
      // The command was ended by the signal, as the script could still say.
      #expect(try await task.value.status == .signalled(15))
    }
  }
}
