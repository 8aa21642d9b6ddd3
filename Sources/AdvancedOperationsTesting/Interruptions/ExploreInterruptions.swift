/// Interrupts a workflow after each of its steps, and checks how it ends.
///
/// An *interruption* comes from outside, at any moment: a cancel, a pause, a sign-out, a lost
/// network. A workflow with an `await` between two effects may be correct at every moment but one.
///
/// The exploration first counts the steps of the workflow. For each number of steps from zero to all, it
/// builds the workflow in a new simulation, and takes that many steps. Then it calls `interrupt`, runs the
/// simulation to its end, and calls `check`. The workflow is therefore interrupted once at each moment of
/// this order of steps: before the first step, between two steps, while all operations sleep, and after the
/// end. The exploration repeats this with several seeds, because another seed determines another order.
///
/// ```swift
/// try exploreInterruptions { simulation in
///   let server = Server()
///   let upload = makeUpload(to: server, simulation.environment.clock)
///   AdvancedOperationQueue(environment: simulation.environment).addOperation(upload)
///   return (server, upload)
/// } interrupt: { _, upload in
///   upload.cancel()
/// } check: { server, upload in
///   if server.hasOrphans { throw Orphan() }
/// }
/// ```
///
/// The interruption is called outside of any step. An interruption may be async code, as in
/// `try simulation.run { @Sendable in await session.signOut() }`, with a simulation that `build` returns.
/// `check` may continue the workflow: it can resume a paused queue, and call ``SimulatedEnvironment/run()``.
///
/// After `check`, the exploration fails if a step is pending or an operation has not finished. An unfinished
/// operation is allowed if it waits for the test: for a ``HeldOperation``, for a ``ConditionProbe``, or in a
/// suspended queue.
///
/// An exploration with ``exploreSchedules(depthFirst:randomSchedules:stepLimit:seed:fileID:line:of:)`` and a
/// step with `atAnyTime: true` also tries each moment, in every order of the other steps. Such an exploration
/// is complete for two or three operations only.
///
/// - Parameters:
///   - randomSchedules: The number of orders of steps, each of which has its own seed; one at least.
///   - lastStep: The number of the last step after which the workflow is interrupted; nil for all
///     steps. Pass a number if only an interruption ends the workflow, or if it takes more than 2,000
///     steps.
///   - stepLimit: The number of steps after which a run fails, because it may have no end.
///   - seed: The seed of the first schedule; the next schedule has the next seed.
///   - fileID: The file of the call.
///   - line: The line of the call.
///   - build: A closure that builds the workflow, adds its operations to queues of the simulation, and
///     returns a value for the other closures. The closure is called once for each interruption, and creates
///     everything that the workflow uses. It doesn't run the simulation.
///   - interrupt: A closure that interrupts the workflow.
///   - check: A closure that throws if something is wrong in the end. The closure has to accept a workflow
///     that had finished before the interruption. It isn't called for the run without an interruption.
/// - Returns: A report with the numbers of schedules and interruptions. A schedule has one interruption more
///   than steps.
/// - Throws: ``ExpectationFailure`` for the first interruption after which something is wrong. The failure
///   names the seed, the number of steps, the time, and the steps before and after the interruption. It also
///   contains a call that interrupts the workflow at that moment only. If a closure threw an error, the
///   failure contains it as ``ExpectationFailure/underlying``. Throws the same error if `build` runs the
///   simulation, if no step is taken, or if the workflow takes other steps with the same seed. The run
///   without an interruption also throws if it leaves an operation unfinished, or takes more than 2,000
///   steps.
/// - Precondition: Not called from a step of a simulation.
/// - Complexity: O(s · n²) steps, s the number of seeds and n the number of steps of the workflow.
@discardableResult
public func exploreInterruptions<Context>(
  randomSchedules: Int = 3,
  upToStep lastStep: Int? = nil,
  stepLimit: Int = 20_000,
  seed: UInt64 = 1,
  fileID: String = #fileID,
  line: Int = #line,
  of build: (SimulatedEnvironment) throws -> Context,
  interrupt: (Context) throws -> Void,
  check: (Context) throws -> Void
) throws -> InterruptionReport {
  try withExplorer(build, interrupt, check, seed, stepLimit, fileID, line) { explorer in
    try explorer.explore(randomSchedules, from: seed, upTo: lastStep)
  }
}

/// Interrupts a workflow only after one step, such as the step that a failure names.
///
/// The closures are called once, so that a breakpoint in them is met in the run that fails.
///
/// ```swift
/// try exploreInterruptions(
///   replayingStep: 5,
///   seed: 2,
///   of: build,
///   interrupt: cancel,
///   check: hasNoOrphans
/// )
/// ```
///
/// - Parameters:
///   - step: The number of the step after which the workflow is interrupted; 0 for an interruption
///     before the first step.
///   - seed: The seed of the schedule.
///   - stepLimit: The number of steps after which the run fails, because it may have no end.
///   - fileID: The file of the call.
///   - line: The line of the call.
///   - build: A closure that builds the workflow, as for
///     ``exploreInterruptions(randomSchedules:upToStep:stepLimit:seed:fileID:line:of:interrupt:check:)``.
///   - interrupt: A closure that interrupts the workflow.
///   - check: A closure that throws if something is wrong in the end.
/// - Throws: ``ExpectationFailure`` if something is wrong, or if the workflow has fewer steps.
/// - Precondition: Not called from a step of a simulation.
public func exploreInterruptions<Context>(
  replayingStep step: Int,
  seed: UInt64,
  stepLimit: Int = 20_000,
  fileID: String = #fileID,
  line: Int = #line,
  of build: (SimulatedEnvironment) throws -> Context,
  interrupt: (Context) throws -> Void,
  check: (Context) throws -> Void
) throws {
  try withExplorer(build, interrupt, check, seed, stepLimit, fileID, line) { explorer in
    try explorer.explore(onlyAfter: step)
  }
}

private func withExplorer<Context, Result>(
  _ build: (SimulatedEnvironment) throws -> Context,
  _ interrupt: (Context) throws -> Void,
  _ check: (Context) throws -> Void,
  _ seed: UInt64,
  _ stepLimit: Int,
  _ fileID: String,
  _ line: Int,
  _ body: (InterruptionExplorer<Context>) throws -> Result
) throws -> Result {
  try withoutActuallyEscaping(build) { build in
    try withoutActuallyEscaping(interrupt) { interrupt in
      try withoutActuallyEscaping(check) { check in
        try body(
          InterruptionExplorer(
            build: build,
            interrupt: interrupt,
            check: check,
            seed: seed,
            stepLimit: stepLimit,
            fileID: fileID,
            line: line
          )
        )
      }
    }
  }
}
