#if DEBUG
import CoreOperations
#endif

/// Runs a workflow under every order in which its steps can be taken, or under as many as one can.
///
/// Each run has a simulation of its own, at time zero. The exploration first takes all choices
/// depth first. It leaves a run that reaches a state from which it has explored everything before,
/// as long as the workflow depends only on the order in which its own code ran. If the workflow is
/// too large to try all orders, the exploration continues with schedules at random: half of them
/// take any step, half follow random priorities, which finds bugs that need a few steps to be far
/// out of order.
///
/// By default an exploration takes about a second at most: it ends the depth-first part after 4,000
/// steps, which is every order of two or three operations and about 130 orders of ten. If
/// ``ScheduleReport/isComplete`` is false, pass more.
///
/// ```swift
/// struct Stuck: Error {}
///
/// let report = try exploreSchedules { simulation in
///   let queue = AdvancedOperationQueue(environment: simulation.environment)
///   let upload = AdvancedOperation()
///   queue.addOperation(upload)
///   simulation.addStep("cancel") { upload.cancel() }
///   simulation.run()
///   if !upload.isFinished { throw Stuck() }
/// }
/// #expect(report.isComplete)
/// ```
///
/// A workflow must be deterministic: the same choices lead to the same steps. The exploration compares
/// the logs of schedules with the same choices, and fails if they differ. A workflow that takes random
/// numbers from another source than the simulation fails, for example.
///
/// An operation that leaves the simulation (see ``SimulatedEnvironment/strays``) fails the
/// schedule. So does an operation that has not finished although nothing can happen any more,
/// unless it waits for the test: for a ``ConditionProbe``, a ``HeldOperation``, or a queue that is
/// suspended or has no slots. A workflow that takes no step fails as well, and one that leaves
/// steps pending without a run or after ``SimulatedEnvironment/run()``; after a call that ends
/// earlier, as ``SimulatedEnvironment/run(fileID:line:until:)`` does, steps may be left.
///
/// A workflow without an end has to be ended in the test: a schedule with more than `stepLimit`
/// steps fails. If a workflow polls, the number of its schedules has no limit. The depth-first part
/// then leaves out the schedules in which a step is passed over while tasks yield or time moves for
/// 32 times, and ``ScheduleReport/isComplete`` is false.
///
/// A trap in the workflow ends the process. Set the environment variable
/// `OPERATIONS_PRINT_SCHEDULES` to 1 to write each schedule on standard error before it is run; the
/// last line then replays the trap.
///
/// What comes from outside at any moment, and not only before the first sleep, is added with
/// ``SimulatedEnvironment/addStep(_:atAnyTime:_:)``.
///
/// An exploration that takes long writes a line on standard error each ten seconds of real time,
/// with the number of schedules until then. When a schedule is done, the operations that have not
/// finished under it are released, as ``SimulatedEnvironment`` describes.
///
/// - Parameters:
///   - depthFirst: The number of schedules to run depth first; nil for as many as take 4,000 steps
///     together, which is about 130 schedules of ten operations.
///   - randomSchedules: The number of schedules to run at random if these aren't all.
///   - stepLimit: The number of steps after which a schedule fails, because it may have no end.
///   - seed: Where chance begins, that of the workflow too.
///   - fileID: Where this is called.
///   - line: The line of that.
///   - workflow: Builds the workflow, runs the simulation, and throws if something is wrong. Run
///     many times; everything that it uses has to be made in it.
/// - Returns: The number of schedules, and whether there are no others.
/// - Throws: ``ScheduleFailure`` at the first schedule under which the workflow throws, leaves the
///   simulation, leaves steps, or doesn't end. Before that, the schedule is run once more, and then
///   made shorter as long as it fails in the same way: with an error of the same type and text
///   (numbers may differ), an ``ExpectationFailure`` also in the same line. If it doesn't fail
///   again, the failure says that the workflow isn't deterministic. `CancellationError` if the task
///   that explores is cancelled, as by the time limit of a test.
/// - Complexity: The number of schedules can grow as the factorial of that of operations.
@discardableResult
public func exploreSchedules(
  depthFirst: Int? = nil,
  randomSchedules: Int = 100,
  stepLimit: Int = 20_000,
  seed: UInt64 = 1,
  fileID: String = #fileID,
  line: Int = #line,
  of workflow: (SimulatedEnvironment) throws -> Void
) throws -> ScheduleReport {
  try ScheduleExplorer.with(workflow, seed: seed) { explorer in
    explorer.stepLimit = stepLimit
    return try explorer.explore(
      depthFirst: depthFirst,
      random: randomSchedules,
      fileID: fileID,
      line: line
    )
  }
}

/// Runs a workflow under one schedule, as a ``ScheduleFailure`` carries it.
///
/// ```swift
/// try exploreSchedules(replaying: "1;2=1,5=3", of: upload)
/// ```
///
/// - Parameters:
///   - schedule: The schedule.
///   - stepLimit: The number of steps after which it fails.
///   - fileID: Where this is called.
///   - line: The line of that.
///   - workflow: What was explored.
/// - Throws: ``ScheduleFailure`` when the workflow throws, with the error as
///   ``ScheduleFailure/underlying``, and when the schedule doesn't fit the workflow: it takes a
///   step where there are fewer, or makes more choices than there are. ``ExpectationFailure`` when
///   the text is no schedule. `CancellationError` if the task that replays is cancelled.
public func exploreSchedules(
  replaying schedule: String,
  stepLimit: Int = 20_000,
  fileID: String = #fileID,
  line: Int = #line,
  of workflow: (SimulatedEnvironment) throws -> Void
) throws {
  guard let parsed = Schedule(schedule) else {
    throw ExpectationFailure("“\(schedule)” is no schedule.", fileID: fileID, line: line)
  }
  try ScheduleExplorer.with(workflow, seed: parsed.seed) { explorer in
    explorer.interruptions = parsed.interruptions
    explorer.stepLimit = stepLimit
    try explorer.replay(parsed, fileID: fileID, line: line)
  }
}

#if DEBUG
// The same, where a step may also be interrupted, this often in one schedule, wherever the library
// touches what others touch too. For tests of the library itself: a step of a user may hold locks
// of its own there.
@discardableResult
package func exploreSchedules(
  interruptions: Int,
  depthFirst: Int? = nil,
  randomSchedules: Int = 100,
  seed: UInt64 = 1,
  fileID: String = #fileID,
  line: Int = #line,
  of workflow: (SimulatedEnvironment) throws -> Void
) throws -> ScheduleReport {
  try ScheduleExplorer.with(workflow, seed: seed) { explorer in
    explorer.interruptions = interruptions
    return try explorer.explore(
      depthFirst: depthFirst,
      random: randomSchedules,
      fileID: fileID,
      line: line
    )
  }
}

// For measuring how good one way to draw schedules is; the usual one when it is nil.
package func countFailures(
  drawing: ScheduleDrawing?,
  among count: Int,
  seed: UInt64 = 1,
  of workflow: (SimulatedEnvironment) throws -> Void
) throws -> Int {
  try ScheduleExplorer.with(workflow, seed: seed) { explorer in
    try explorer.failures(drawing: drawing, among: count)
  }
}
#endif

/// For tests of the pruning: every order, however equal.
@discardableResult
package func exploreSchedulesUnpruned(
  depthFirst: Int,
  seed: UInt64 = 1,
  fileID: String = #fileID,
  line: Int = #line,
  of workflow: (SimulatedEnvironment) throws -> Void
) throws -> ScheduleReport {
  try ScheduleExplorer.with(workflow, seed: seed) { explorer in
    explorer.prunes = false
    return try explorer.explore(depthFirst: depthFirst, random: 0, fileID: fileID, line: line)
  }
}
