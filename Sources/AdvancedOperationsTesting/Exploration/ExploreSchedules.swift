#if DEBUG
import CoreOperations
#endif

/// Runs a workflow in every order of its steps, or in as many orders as the limits allow.
///
/// Each run has a separate simulation at time zero. An order of the steps is a *schedule*. The exploration
/// first tries schedules depth first. It ends a run at a state from which it has explored everything before.
/// This assumes that the workflow depends only on the order in which its own code ran. If there are too many
/// schedules to try all, the exploration continues with random schedules. Half of them take any step. The
/// other half follow random priorities, which find bugs that need a few steps to be far out of order.
///
/// By default, an exploration takes about a second at most, because the depth-first search ends after 4,000
/// steps. These are enough for every order of two or three operations, or for about 130 orders of ten
/// operations. If ``ScheduleReport/isComplete`` is false, pass a larger number of schedules.
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
/// A workflow must be deterministic: the same choices lead to the same steps. The exploration compares the
/// logs of schedules with the same choices, and fails if they differ. For example, a workflow fails if it
/// takes random numbers from another source than the simulation.
///
/// A schedule fails if an operation leaves the simulation; see ``SimulatedEnvironment/strays``. A schedule
/// also fails if an operation has not finished although nothing can happen any more, unless the operation
/// waits for the test. An operation waits for the test if it waits for a ``ConditionProbe`` or a
/// ``HeldOperation``, or is in a queue that is suspended or has no slots.
///
/// A workflow fails if it takes no step. A workflow also fails if it leaves steps pending without running the
/// simulation, or if steps are pending after ``SimulatedEnvironment/run()``. After a call that ends earlier,
/// such as ``SimulatedEnvironment/run(fileID:line:until:)``, steps may be pending.
///
/// End an endless workflow in the test, because a schedule with more than `stepLimit` steps fails. If a
/// workflow polls, the number of its schedules has no limit. The depth-first search then omits the schedules
/// in which a step is passed over while tasks yield, or time moves, 32 times. In this case,
/// ``ScheduleReport/isComplete`` is false.
///
/// A trap in the workflow ends the process. Set the environment variable `OPERATIONS_PRINT_SCHEDULES` to 1 to
/// write each schedule on standard error before it is run. The last line is then a call that replays the
/// trap.
///
/// To add an event from outside at any moment, and not only before the first sleep, call
/// ``SimulatedEnvironment/addStep(_:atAnyTime:_:)``.
///
/// A long exploration writes a line on standard error every ten seconds of real time, with the number of
/// schedules so far. After each schedule, the simulation releases the operations that have not finished, as
/// ``SimulatedEnvironment`` describes.
///
/// - Parameters:
///   - depthFirst: The number of schedules to run depth first. With nil, the search ends after 4,000 steps,
///     which are about 130 schedules of ten operations.
///   - randomSchedules: The number of random schedules to run if the depth-first search isn't complete.
///   - stepLimit: The number of steps after which a schedule fails, because it may have no end.
///   - seed: The seed of all random choices, including random numbers in the workflow.
///   - fileID: The file of the call.
///   - line: The line of the call.
///   - workflow: A closure that builds the workflow, runs the simulation, and throws if something is wrong.
///     The closure is called many times, and has to create everything that it uses.
/// - Returns: A report with the number of schedules, and whether these are all schedules.
/// - Throws: ``ScheduleFailure`` for the first schedule in which the workflow throws, leaves the simulation,
///   leaves steps pending, or doesn't end. Before it throws, the exploration runs the schedule again, and
///   shortens it as long as it fails in the same way. Two failures are the same if their errors have the same
///   type and text, apart from numbers. Two ``ExpectationFailure`` errors must also have the same line. If
///   the schedule doesn't fail again, the failure says that the workflow isn't deterministic. Throws
///   `CancellationError` if the task that explores is cancelled, for example by the time limit of a test.
/// - Complexity: The number of schedules can grow with the factorial of the number of operations.
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

/// Runs a workflow in one schedule, such as the schedule of a ``ScheduleFailure``.
///
/// ```swift
/// try exploreSchedules(replaying: "1;2=1,5=3", of: upload)
/// ```
///
/// - Parameters:
///   - schedule: The schedule.
///   - stepLimit: The number of steps after which the schedule fails.
///   - fileID: The file of the call.
///   - line: The line of the call.
///   - workflow: The workflow that was explored.
/// - Throws: ``ScheduleFailure`` if the workflow throws, with the error as ``ScheduleFailure/underlying``.
///   Throws the same error if the schedule doesn't fit the workflow. A schedule doesn't fit if it picks a
///   step that doesn't exist, or has more choices than the workflow makes. Throws ``ExpectationFailure`` if
///   the text isn't a schedule, and `CancellationError` if the task that replays is cancelled.
public func exploreSchedules(
  replaying schedule: String,
  stepLimit: Int = 20_000,
  fileID: String = #fileID,
  line: Int = #line,
  of workflow: (SimulatedEnvironment) throws -> Void
) throws {
  guard let parsed = Schedule(schedule) else {
    throw ExpectationFailure("“\(schedule)” isn't a schedule.", fileID: fileID, line: line)
  }
  try ScheduleExplorer.with(workflow, seed: parsed.seed) { explorer in
    explorer.interruptions = parsed.interruptions
    explorer.stepLimit = stepLimit
    try explorer.replay(parsed, fileID: fileID, line: line)
  }
}

#if DEBUG
// Explores schedules in which steps are also interrupted, up to this many times in a schedule, at each access
// of the library to shared state. Only for tests of the library itself, because the step of a user may hold
// its own locks at such a point.
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

// Counts the failures among random schedules, to measure a way to draw schedules; nil for the usual way.
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

/// Explores every order without pruning, for tests of the pruning.
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
