public import AdvancedOperations

/// Lets the process die at every step of a workflow with a journal, and checks what a restart makes
/// of what was recorded.
///
/// The workflow is run once without a death. Then it is begun again and again, stopped after one
/// step more each time, and begun anew with what is in the journal by then, and with nothing else;
/// at random it dies a second time. What only a part of the journal survives is tried as well, for
/// each part that begins with the first record.
///
/// ```swift
/// try exploreRestarts { simulation, journal in
///   let build = ResultOperation { try await compile("app") }.recorded(as: "build", in: journal)
///   let pack = build.then { try await archive($0) }.recorded(as: "pack", in: journal)
///   AdvancedOperationQueue(environment: simulation.environment).addOperations([build, pack])
///   return pack
/// }
/// ```
///
/// Whatever happened before, after the last restart
///
/// - the operation ends, as it did without a death, and with the same value;
/// - no operation has begun to execute whose value was recorded before the restart;
/// - the journal has the same keys as without a death, with the same values.
///
/// So a test finds three kinds of mistakes: state in memory that a restart doesn't restore, one key
/// for two operations that run at the same time, and keys that change from life to life. Values that
/// aren't `Equatable` are not compared. One key for two operations that run one after the other isn't
/// found: the second operation has the value of the first each time, as a second attempt would.
///
/// Nothing of a process that has died goes on, and what was suspended in it is never resumed. Its
/// operations are released, as ``SimulatedEnvironment`` describes; a task that was suspended stays
/// in memory until the tests end, with what its own code uses. An exploration that takes long writes
/// a line on standard error each ten seconds of real time, with the number of restarts until then.
/// A run that never comes to its end is reported there, too. What the workflow changes outside of its
/// operations, in a database for instance, is tested with
/// ``exploreRestarts(schedules:stepLimit:seed:fileID:line:world:of:check:)``.
///
/// - Parameters:
///   - schedules: In how many orders of its steps the workflow dies; one at least.
///   - stepLimit: The number of steps after which a life fails, because it may have no end.
///   - seed: Where chance begins.
///   - fileID: Where this is called.
///   - line: The line of that.
///   - workflow: Makes the operations, adds them to queues of the simulation, and returns the one
///     whose end and value are compared. Called for each life; everything that the workflow uses
///     has to be made in it. It doesn't run the simulation.
/// - Returns: How many deaths there were.
/// - Throws: ``ExpectationFailure`` at the first restart after which something isn't so, with the
///   seed, the step and what was recorded. Also when `workflow` throws, with the error as
///   ``ExpectationFailure/underlying``; when it runs the simulation; when it takes no step in it;
///   and when no operation has recorded anything, so that there is nothing to restart from.
///   `CancellationError` if the task that explores is cancelled, as by the time limit of a test.
/// - Complexity: O(s · n²) steps, s the number of schedules and n that of the steps of the
///   workflow.
@discardableResult
public func exploreRestarts(
  schedules: Int = 10,
  stepLimit: Int = 20_000,
  seed: UInt64 = 1,
  fileID: String = #fileID,
  line: Int = #line,
  of workflow: (SimulatedEnvironment, InMemoryJournal) throws -> AdvancedOperation
) throws -> Int {
  try withoutActuallyEscaping(workflow) { workflow in
    let explorer = RestartExplorer<Void>(
      makeWorld: {},
      workflow: { simulation, journal, _ in try workflow(simulation, journal) },
      checkWorld: nil,
      stepLimit: stepLimit,
      fileID: fileID,
      line: line
    )
    return try explorer.explore(schedules, from: seed)
  }
}

/// Lets the process die at every step of a workflow, and checks what its lives did to a world
/// outside.
///
/// So a test sees whether a card was charged twice, or a mail never sent.
///
/// A world outlives the process. One is made for each *series* of lives: a first life, and those
/// after its deaths. The lives of a series are given the same world and the same journal, and
/// `check` looks at the world when the last of them has ended.
///
/// The operation below dies after the card was charged, and before that is in the journal. The next
/// life charges again; the bank has to know by a key that it has seen this charge.
///
/// ```swift
/// final class Bank: Sendable {
///   private let kept = Mutex<[(id: String, amount: Int)]>([])
///   var charges: [Int] { kept.withLock { $0.map(\.amount) } }
///
///   func charge(_ amount: Int, id: String) {
///     kept.withLock { kept in
///       if !kept.contains(where: { $0.id == id }) { kept.append((id, amount)) }
///     }
///   }
/// }
///
/// struct ChargedWrongly: Error { let charges: [Int] }
///
/// try exploreRestarts(world: { Bank() }) { simulation, journal, bank in
///   let charge = ResultOperation {
///     bank.charge(50, id: "order 7")
///     return 50
///   }.recorded(as: "charge", in: journal)
///   AdvancedOperationQueue(environment: simulation.environment).addOperation(charge)
///   return charge
/// } check: { bank in
///   if bank.charges != [50] { throw ChargedWrongly(charges: bank.charges) }
/// }
/// ```
///
/// All that ``exploreRestarts(schedules:stepLimit:seed:fileID:line:of:)`` expects is expected as well, but
/// for one thing: a workflow that records nothing is fine, when its world is as it should be. Where
/// only a part of the journal survives, the world is as a whole life leaves it.
///
/// - Parameters:
///   - schedules: In how many orders of its steps the workflow dies; one at least.
///   - stepLimit: The number of steps after which a life fails, because it may have no end.
///   - seed: Where chance begins.
///   - fileID: Where this is called.
///   - line: The line of that.
///   - world: Makes what outlives the process: an object, or several in a struct or tuple. Called
///     once for each series.
///   - workflow: Makes the operations, adds them to queues of the simulation, and returns the one
///     whose end and value are compared. Called for each life; everything that the workflow uses,
///     but for the world, has to be made in it. It doesn't run the simulation.
///   - check: Looks at the world after the last life of each series, and throws if something is
///     wrong; after a life without a death too.
/// - Returns: How many deaths there were.
/// - Throws: ``ExpectationFailure`` with the seed, the step, and what was recorded, as
///   ``exploreRestarts(schedules:stepLimit:seed:fileID:line:of:)``. What `world`, `workflow` and `check`
///   throw is its ``ExpectationFailure/underlying``.
/// - Complexity: O(s · n²) steps, s the number of schedules and n that of the steps of the
///   workflow.
@discardableResult
public func exploreRestarts<World>(
  schedules: Int = 10,
  stepLimit: Int = 20_000,
  seed: UInt64 = 1,
  fileID: String = #fileID,
  line: Int = #line,
  world: () throws -> World,
  of workflow: (SimulatedEnvironment, InMemoryJournal, World) throws -> AdvancedOperation,
  check: (World) throws -> Void
) throws -> Int {
  try withoutActuallyEscaping(world) { world in
    try withoutActuallyEscaping(workflow) { workflow in
      try withoutActuallyEscaping(check) { check in
        let explorer = RestartExplorer(
          makeWorld: world,
          workflow: workflow,
          checkWorld: check,
          stepLimit: stepLimit,
          fileID: fileID,
          line: line
        )
        return try explorer.explore(schedules, from: seed)
      }
    }
  }
}
