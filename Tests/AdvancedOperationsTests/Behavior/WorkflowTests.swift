import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import Testing

/// A workflow as apps have them, cancelled wherever that can happen.
@Suite(.watched) struct `A workflow of thirty operations` {
  @Test(arguments: 1...3, [false, true])
  func `a workflow of thirty operations finishes`(seed: UInt64, fails: Bool) {
    let run = WorkflowRun(seed: seed, fails: fails, cancelsAtStep: nil)
    run.play()
    #expect(run.problems == [])
    #expect(run.made.entries.count >= 30)
    #expect(run.root.kind == (fails ? .failed : .succeeded))
    #expect(run.root.flawNumbers == (fails ? [7] : []))
    let charges = fails ? 3 : 0
    #expect(run.undone(in: run.root).filter { $0.hasPrefix("charge") }.count == charges)
  }

  /// Every step of one world, and some of another.
  @Test(arguments: [(seed: 1, fails: false, stride: 1), (seed: 2, fails: true, stride: 7)])
  func `a workflow that is cancelled at any step ends in order and releases everything`(
    seed: UInt64,
    fails: Bool,
    stride: Int
  ) {
    let rehearsal = WorkflowRun(seed: seed, fails: fails, cancelsAtStep: nil)
    rehearsal.play()
    let steps = rehearsal.steps.count
    #expect(steps > 100)
    for step in Swift.stride(from: 1, through: steps, by: stride) {
      let run = WorkflowRun(seed: seed, fails: fails, cancelsAtStep: step)
      run.play()
      let problems = run.problems
      #expect(problems.isEmpty, "seed \(seed), step \(step) of \(steps): \(problems)")
      // Only after the last step that belongs to the workflow is it too late.
      #expect(run.root.kind == .cancelled || step > steps - 10, "step \(step) of \(steps)")
      if !problems.isEmpty { return }
    }
  }
}
