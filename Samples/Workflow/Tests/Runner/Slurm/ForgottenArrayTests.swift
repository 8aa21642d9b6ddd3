import Foundation
import Testing
import WorkflowDocument

@testable import WorkflowRunner

/// What needs no Slurm, only commands that are called like its own.
@Suite(.timeLimit(.minutes(5))) struct ForgottenArrayTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  /// An engine whose controller takes arrays and forgets them, and runs what `srun` submits.
  private func engine() throws -> SlurmEngine {
    let commands = [
      "sbatch": "cat > \(folder.path)/array; echo 12",
      "squeue": "exit 0",
      "scontrol": "exit 1",
      "scancel": "exit 0",
      "srun": #"echo srun >> \#(folder.path)/calls; while [ "$1" != /bin/sh ]; do shift; done; "#
        + #"SLURM_JOB_ID=13 SLURMD_NODENAME=n1 exec "$@""#,
    ]
    let path = folder.path + "/bin"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    for (name, line) in commands {
      try folder.write("#!/bin/sh\n\(line)\n", to: "bin/\(name)")
      try FileManager.default.setAttributes(
        [.posixPermissions: 0o755],
        ofItemAtPath: "\(path)/\(name)"
      )
    }
    var options = SlurmEngine.Options()
    options.arraysFrom = 2
    options.gathering = .milliseconds(300)
    let environment = ["PATH": path + ":/usr/bin:/bin"]
    return SlurmEngine(options: options, commands: SlurmCommands(environment: environment))
  }

  private func attempt(_ index: Int) -> StepAttempt {
    var step = Step("test@\(index)")
    step.base = "test"
    step.matrix = [MatrixValue(name: "index", value: "\(index)")]
    return StepAttempt(
      run: "run",
      step: step,
      number: 1,
      command: .shell("echo \(index) >> effects; exit \(index)"),
      environment: ["PATH": "/usr/bin:/bin"],
      workingDirectory: folder.path,
      logFile: "\(folder.path)/\(index).log",
      scratchFolder: folder.path + "/scratch"
    )
  }

  @Test func `Tasks of an array that a controller forgot are submitted by themselves, once`()
    async throws
  {
    let engine = try engine()
    async let first = engine.run(attempt(0)) { _ in }
    async let second = engine.run(attempt(1)) { _ in }
    let exits = try await [first, second]
    #expect(exits == [StepExit(.exited(0), node: "n1"), StepExit(.exited(1), node: "n1")])
    #expect(try folder.lines("calls") == ["srun", "srun"])
    #expect(try folder.lines("effects").sorted() == ["0", "1"])
    // The controller remembers: what it begins then does nothing.
    for index in 0..<2 {
      let process = Process()
      process.executableURL = URL(filePath: "/bin/sh")
      process.arguments = [folder.path + "/array"]
      process.environment = ["PATH": "/usr/bin:/bin", "SLURM_ARRAY_TASK_ID": "\(index)"]
      try process.run()
      process.waitUntilExit()
      #expect(process.terminationStatus == Int32(SlurmScript.hasBegunBefore))
    }
    #expect(try folder.lines("effects").count == 2)
  }
}
