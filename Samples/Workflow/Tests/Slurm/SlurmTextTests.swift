import TerminalSupport
import Testing
import WorkflowDocument
import WorkflowRunner

@testable import WorkflowSlurm

@Suite struct SlurmTextTests {
  @Test(arguments: [
    ("", "''"), ("a b", "'a b'"), ("it's", #"'it'\''s'"#), ("$x `y` \\", "'$x `y` \\'"),
    ("a\nb", "'a\nb'"), ("cut\0off", "'cut'"),
  ])
  func `a word is quoted for any shell`(text: String, quoted: String) {
    #expect(ShellQuoting.word(text) == quoted)
  }

  @Test func `only names that a shell can assign to count as such`() {
    #expect(["A", "_a1", "PATH"].allSatisfy(ShellQuoting.isName))
    #expect(!["", "1a", "a.b", "a-b", "é", "a b", "a="].contains(where: ShellQuoting.isName))
  }

  private func attempt(_ change: (inout StepAttempt) -> Void = { _ in }) -> StepAttempt {
    let command = Command.shell(Template(text: "true"))
    var attempt = StepAttempt(
      run: "run",
      step: Step(id: "test@linux,6.3", base: "test", command: command),
      number: 2,
      command: .shell("true"),
      environment: [:],
      workingDirectory: "/",
      logFile: "/log",
      scratchFolder: "/scratch",
      gracePeriod: .seconds(10)
    )
    change(&attempt)
    return attempt
  }

  @Test func `a step that asks for nothing gets one processor of one node`() {
    let request = SlurmRequest(attempt())
    #expect(
      request.arguments(name: SlurmRequest.name(attempt()), token: "T") == [
        "--job-name=run:test@linux,6.3:2", "--comment=T", "--nodes=1", "--ntasks=1",
        "--cpus-per-task=1", "--export=NIL", "--chdir=/",
      ]
    )
  }

  @Test func `a job requests processors, memory in whole mebibytes and the time limit`() {
    let request = SlurmRequest(
      attempt {
        $0.step.uses = ["cpu": ResourceAmount(3), "memory": ResourceAmount((1 << 20) + 1, .bytes)]
        $0.step.timeout = .seconds(90)
      },
      options: ["--partition=short"]
    )
    let arguments = request.arguments(name: "a\nb", token: "T")
    #expect(arguments.first == "--job-name=a?b")
    #expect(arguments.contains("--cpus-per-task=3"))
    #expect(arguments.suffix(3) == ["--mem=2M", "--time=3", "--partition=short"])
    #expect(request.description == "3 processors and 2 MiB of memory")
  }

  @Test func `Slurm's list is read, and what isn't a job is left out`() {
    let jobs = SlurmJob.list(
      """
      slurm_load_jobs error: something
      12|RUNNING|None|n1|token
      13_4|PENDING|Nodes required for job are DOWN, DRAINED||(null)
      14|NODE_FAIL|NodeDown|n2|a|b
      """
    )
    #expect(jobs.map(\.id) == ["12", "13_4", "14"])
    #expect(jobs.map(\.phase) == [.active, .pending, .lost])
    #expect(jobs[2].token == "a|b")
    #expect(jobs[1].waitsFor == "Slurm (Nodes required for job are DOWN, DRAINED)")
  }

  @Test(arguments: [
    ("PENDING", SlurmJob.Phase.pending), ("COMPLETING", .active), ("SUSPENDED", .active),
    ("COMPLETED", .ended), ("FAILED", .ended), ("TIMEOUT", .stopped), ("CANCELLED", .stopped),
    ("PREEMPTED", .lost), ("BOOT_FAIL", .lost), ("SOMETHING_NEW", .active),
  ])
  func `a state of Slurm's means one of five things`(state: String, phase: SlurmJob.Phase) {
    #expect(SlurmJob(id: "1", state: state, reason: "", node: "", token: "").phase == phase)
  }

  @Test func `an exit code and a signal are read from what scontrol shows`() {
    #expect(
      SlurmJob.exitCode("JobId=1 ExitCode=3:0 Node=x").map { [$0.code, $0.signal] } == [3, 0]
    )
    #expect(
      SlurmJob.exitCode("DerivedExitCode=1:0\n ExitCode=0:9\n").map { [$0.code, $0.signal] } == [
        0, 9,
      ]
    )
    #expect(SlurmJob.exitCode("slurm_load_jobs error: Invalid job id specified") == nil)
  }

  @Test(arguments: [
    (
      "srun: error: Unable to allocate resources: Unable to contact slurm controller (connect failure)\n",
      SlurmMessage.Meaning.unavailable
    ),
    ("srun: error: Node failure on n1\n", .nodeLost("n1")),
    (
      "srun: error: Task launch for StepId=5.0 failed on node n2: Communication connection failure",
      .nodeLost("n2")
    ),
    ("sbatch: error: Batch job submission failed: Invalid partition name specified", .refused),
    (
      "workflow: no script on n1: /x\nsrun: error: n1: task 0: Exited with exit code 66",
      .notShared("n1")
    ),
    ("srun: error: n1: task 0: Killed", .other), ("", .other),
  ])
  func `a message says what to do about it`(text: String, meaning: SlurmMessage.Meaning) {
    #expect(SlurmMessage(text).meaning == meaning)
  }
}
