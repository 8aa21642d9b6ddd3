import Foundation
import Testing
import WorkflowDocument
import WorkflowRunner

@testable import WorkflowSlurm

extension SlurmTests {
  @Suite struct Steps {
    @Test func `a step runs on a node, and its lines come in order`() async throws {
      let world = try SlurmWorld()
      let reports = SlurmReports()
      let attempt = try world.attempt(
        "echo on $SLURMD_NODENAME; echo error >&2; printf rest; echo version=1.2 >> \"$WORKFLOW_OUTPUT\""
      )
      let exit = try await world.engine.run(attempt, report: reports.of(attempt))
      #expect(exit.status == .exited(0))
      let node = try #require(exit.node)
      #expect(["n1", "n2"].contains(node))
      #expect(reports.nodes == [node])
      #expect(reports.lines == ["on \(node)", "error", "rest"])
      #expect(world.text("step.log") == "on \(node)\nerror\nrest")
      #expect(world.text("step.output") == "version=1.2")
    }

    @Test(arguments: [
      ("exit 0", StepExit.Status.exited(0)), ("exit 3", .exited(3)), ("exit 75", .exited(75)),
      ("no-such-command", .exited(127)), ("kill -9 $$", .signalled(9)), ("kill $$", .signalled(15)),
    ])
    func `an exit code and a signal arrive as they were`(
      line: String,
      status: StepExit.Status
    ) async throws {
      let world = try SlurmWorld()
      let exit = try await world.engine.run(try world.attempt(line)) { _ in }
      #expect(exit.status == status)
      #expect(exit.node != nil)
    }

    @Test func `a folder that isn't there is the step's failure, and is named`() async throws {
      let world = try SlurmWorld()
      let reports = SlurmReports()
      let attempt = try world.attempt("true") { $0.workingDirectory = "/no/such folder" }
      let exit = try await world.engine.run(attempt, report: reports.of(attempt))
      #expect(exit.status == .exited(126))
      #expect(
        reports.lines.last == "workflow: no such folder on \(exit.node ?? ""): /no/such folder"
      )
    }

    @Test func `variables and arguments arrive as they are, whatever they contain`() async throws {
      let world = try SlurmWorld()
      let odd = "it's \"$HOME\" `x` \\ * ; \n second line é 🧪 %s #"
      let variables = [
        "ODD": odd, "UID": "x", "IFS": ":", "SLURM_JOB_ID": "wrong",
        "EMPTY": "", "folder": "mine",
      ]
      let attempt = try world.attempt("") { attempt in
        attempt.environment.merge(variables) { $1 }
        attempt.command = .arguments([
          "/bin/sh", "-c",
          #"/usr/bin/env -0 > environment; printf '%s\0' "$@" > arguments; echo "$SLURM_JOB_ID""#,
          "name", odd, "", "-n", "--help", "a  b",
        ])
      }
      let reports = SlurmReports()
      let exit = try await world.engine.run(attempt, report: reports.of(attempt))
      #expect(exit.isSuccess)
      #expect(
        world.text("arguments")?.split(separator: "\0", omittingEmptySubsequences: false)
          == [Substring(odd), "", "-n", "--help", "a  b", ""]
      )
      let environment = Set(
        try #require(world.text("environment")).split(separator: "\0").map(String.init)
      )
      for (name, value) in variables where name != "SLURM_JOB_ID" && name != "IFS" {
        #expect(environment.contains("\(name)=\(value)"))
      }
      #expect(
        reports.lines.first.flatMap { Int($0) } != nil,
        "the job's own number, not the outer one"
      )
    }

    @Test func `attempts of steps whose names differ in odd letters don't take each other up`()
      async throws
    {
      let world = try SlurmWorld()
      let reports = SlurmReports()
      let first = try world.attempt(
        "echo $$; while [ ! -e go ]; do sleep 0.05 || true; done",
        id: "a@b"
      )
      async let one = world.engine.run(first, report: reports.of(first))
      try await reports.wait { !$0.lines.isEmpty }
      for id in ["a,b", "b"] {
        let other = try world.attempt("echo ran > '\(id)'", id: id)
        #expect(!world.engine.hasSubmitted(other))
        #expect(try await world.engine.run(other) { _ in }.isSuccess)
        #expect(world.text(id) == "ran")
      }
      #expect(world.engine.hasSubmitted(first))
      try SlurmPlace.write("", to: world.path + "/go")
      #expect(try await one.isSuccess)
      #expect(!world.engine.hasSubmitted(first))
    }

    @Test func `a variable whose name no shell knows arrives too`() async throws {
      let world = try SlurmWorld()
      let reports = SlurmReports()
      let attempt = try world.attempt("") {
        $0.command = .arguments(["/usr/bin/env"])
        $0.environment["with.dot"] = "it's"
      }
      #expect(try await world.engine.run(attempt, report: reports.of(attempt)).isSuccess)
      #expect(reports.lines.contains("with.dot=it's"))
    }

    @Test func `a job that can never run is refused with a reason instead of waiting forever`()
      async throws
    {
      let world = try SlurmWorld()
      let attempt = try world.attempt("true") { $0.step.uses["cpu"] = ResourceAmount(1000) }
      let error = await #expect(throws: SlurmError.self) {
        try await world.engine.run(attempt) { _ in }
      }
      guard case .refused(let message, "1000 processors") = error else {
        Issue.record("\(String(describing: error))")
        return
      }
      #expect(!message.isEmpty)
      #expect(try await world.jobs().isEmpty)
    }

    @Test func `more memory than a node has is refused`() async throws {
      let world = try SlurmWorld()
      let attempt = try world.attempt("true") {
        $0.step.uses["memory"] = ResourceAmount(1 << 50, .bytes)
      }
      await #expect(throws: SlurmError.self) { try await world.engine.run(attempt) { _ in } }
    }

    @Test func `a partition that isn't there is refused in Slurm's words`() async throws {
      let world = try SlurmWorld { $0.arguments = ["--partition=nowhere"] }
      let error = await #expect(throws: SlurmError.self) {
        try await world.engine.run(try world.attempt("true")) { _ in }
      }
      #expect(
        error?.description
          == "Slurm can't ever run it (1 processor): "
          + "Unable to allocate resources: Invalid partition name specified"
      )
    }

    @Test func `a step says what it waits for, and runs when it has it`() async throws {
      let world = try SlurmWorld()
      let all = ResourceAmount(4)
      let blockers = try (1...2).map { number in
        try world.attempt("while [ ! -e go ]; do sleep 0.05 || true; done", id: "blocker\(number)")
        {
          $0.step.uses["cpu"] = all
        }
      }
      let started = SlurmReports()
      async let first = world.engine.run(blockers[0], report: started.add)
      async let second = world.engine.run(blockers[1], report: started.add)
      try await started.wait { $0.nodes.count == 2 }
      let reports = SlurmReports()
      async let third = world.engine.run(
        try world.attempt("true", id: "third") { $0.step.uses["cpu"] = all },
        report: reports.add
      )
      try await reports.wait { !$0.waits.isEmpty }
      #expect(reports.waits.first?.contains("Slurm") == true)
      try SlurmPlace.write("", to: world.path + "/go")
      #expect(try await [first, second, third].allSatisfy(\.isSuccess))
      #expect(reports.nodes.count == 1)
    }
  }
}
