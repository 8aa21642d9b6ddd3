import Foundation
import Synchronization
import Testing
import WorkflowDocument

@testable import WorkflowRunner

extension SlurmTests {
  @Suite struct Arrays {
    private func combination(
      _ index: Int,
      _ line: String,
      in world: SlurmWorld
    ) throws -> StepAttempt {
      try world.attempt(line, id: "test@\(index)") { attempt in
        attempt.step.base = "test"
        attempt.step.matrix = [MatrixValue(name: "index", value: "\(index)")]
        attempt.environment["INDEX"] = "\(index)"
      }
    }

    @Test func `combinations that are ready together are one array, each with its own end`()
      async throws
    {
      // As long as it takes until all of them have come: one task more would end it.
      let world = try SlurmWorld { $0.gathering = .milliseconds(300) }
      var options = world.engine.options
      options.arraysFrom = 2
      let engine = SlurmEngine(options: options)
      let attempts = try (0..<6).map {
        try combination($0, "echo index $INDEX; exit $INDEX", in: world)
      }
      let ends = try await withThrowingTaskGroup(of: (Int, StepExit, SlurmReports).self) { group in
        for (index, attempt) in attempts.enumerated() {
          group.addTask {
            let reports = SlurmReports()
            return (index, try await engine.run(attempt, report: reports.of(attempt)), reports)
          }
        }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      var jobs: Set<String> = []
      for (index, exit, reports) in ends {
        #expect(exit.status == .exited(index))
        #expect(reports.lines == ["index \(index)"])
        #expect(reports.nodes == [exit.node])
        let job = try #require(reports.handle?.split(separator: " ").first)
        #expect(job.hasSuffix("_\(job.split(separator: "_").last ?? "")"))
        jobs.insert(String(job.split(separator: "_")[0]))
      }
      #expect(jobs.count == 1)
    }

    @Test func `one task of an array is cancelled without the others`() async throws {
      let world = try SlurmWorld { $0.gathering = .milliseconds(300) }
      var options = world.engine.options
      options.arraysFrom = 2
      let engine = SlurmEngine(options: options)
      // Each place of the array: the last one has the array's own number.
      for cancelled in 0..<2 {
        let go = "go\(cancelled)"
        let reports = [SlurmReports(), SlurmReports()]
        let tasks = try (0..<2).map { index in
          let attempt = try combination(
            cancelled * 2 + index,
            "echo $$; while [ ! -e \(go) ]; do sleep 0.05; done",
            in: world
          )
          return Task { try await engine.run(attempt, report: reports[index].of(attempt)) }
        }
        for reports in reports { try await reports.wait { !$0.lines.isEmpty } }
        tasks[cancelled].cancel()
        await #expect(throws: CancellationError.self) { try await tasks[cancelled].value }
        #expect(!isRunning(try #require(Int(reports[cancelled].lines[0]))))
        #expect(isRunning(try #require(Int(reports[1 - cancelled].lines[0]))))
        try SlurmPlace.write("", to: world.path + "/" + go)
        #expect(try await tasks[1 - cancelled].value.isSuccess)
      }
    }

    @Test func `an array that can never run is refused for each of its combinations`() async throws
    {
      let world = try SlurmWorld {
        $0.gathering = .milliseconds(300)
        $0.arraysFrom = 2
        $0.arguments = ["--partition=nowhere"]
      }
      let tasks = try (0..<2).map { index in
        let attempt = try combination(index, "true", in: world)
        return Task { try await world.engine.run(attempt) { _ in } }
      }
      for task in tasks { await #expect(throws: SlurmError.self) { try await task.value } }
    }
  }
}
