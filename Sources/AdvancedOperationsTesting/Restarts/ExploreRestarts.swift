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
/// ``exploreRestarts(randomSchedules:stepLimit:seed:fileID:line:externalState:of:check:)``.
///
/// - Parameters:
///   - randomSchedules: The number of orders of steps in which the workflow dies; one at least.
///   - stepLimit: The number of steps after which a run fails, because it may have no end.
///   - seed: Where chance begins.
///   - fileID: Where this is called.
///   - line: The line of that.
///   - workflow: Makes the operations, adds them to queues of the simulation, and returns the one
///     whose end and value are compared. Called for each life; everything that the workflow uses
///     has to be made in it. It doesn't run the simulation.
/// - Returns: The number of schedules and of restarts.
/// - Throws: ``ExpectationFailure`` at the first restart after which something isn't so, with the
///   seed, the step and what was recorded. Also when `workflow` throws, with the error as
///   ``ExpectationFailure/underlying``; when it runs the simulation; when it takes no step in it;
///   and when no operation has recorded anything, so that there is nothing to restart from.
///   `CancellationError` if the task that explores is cancelled, as by the time limit of a test.
/// - Complexity: O(s · n²) steps, s the number of schedules and n that of the steps of the
///   workflow.
@discardableResult
public func exploreRestarts(
  randomSchedules: Int = 10,
  stepLimit: Int = 20_000,
  seed: UInt64 = 1,
  fileID: String = #fileID,
  line: Int = #line,
  of workflow: (SimulatedEnvironment, InMemoryJournal) throws -> AdvancedOperation
) throws -> RestartReport {
  try withoutActuallyEscaping(workflow) { workflow in
    let explorer = RestartExplorer<Void>(
      makeState: {},
      workflow: { simulation, journal, _ in try workflow(simulation, journal) },
      checkState: nil,
      stepLimit: stepLimit,
      fileID: fileID,
      line: line
    )
    return try explorer.explore(randomSchedules, from: seed)
  }
}

/// Lets the process die at every step of a workflow, and checks what its lives did outside of the
/// process.
///
/// So a test finds a card that is charged twice, or a mail that is never sent.
///
/// *External state* outlives the process: a bank, a mailbox, a file. It is created for each *series*
/// of lives: a first life, and those after its deaths. The lives of a series are given the same state
/// and the same journal, and `check` inspects the state when the last of them has ended.
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
/// try exploreRestarts(externalState: { Bank() }) { simulation, journal, bank in
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
/// All that ``exploreRestarts(randomSchedules:stepLimit:seed:fileID:line:of:)`` expects is expected as well, but
/// for one thing: a workflow that records nothing is fine if its external
/// state is as it should be. If only a part of the journal survives, the state is as a whole life
/// leaves it.
///
/// - Parameters:
///   - randomSchedules: The number of orders of steps in which the workflow dies; one at least.
///   - stepLimit: The number of steps after which a run fails, because it may have no end.
///   - seed: Where chance begins.
///   - fileID: Where this is called.
///   - line: The line of that.
///   - externalState: Creates the state that outlives the process: an object, or several in a struct
///     or tuple. Called once for each series.
///   - workflow: Makes the operations, adds them to queues of the simulation, and returns the one
///     whose end and value are compared. Called for each life; everything that the workflow uses,
///     but for the external state, has to be made in it. It doesn't run the simulation.
///   - check: Inspects the external state after the last life of each series, and throws if something is
///     wrong; after a life without a death too.
/// - Returns: The number of schedules and of restarts.
/// - Throws: ``ExpectationFailure`` with the seed, the step, and what was recorded, as
///   ``exploreRestarts(randomSchedules:stepLimit:seed:fileID:line:of:)``. An error of `externalState`,
///   `workflow` or `check` is its ``ExpectationFailure/underlying``.
/// - Complexity: O(s · n²) steps, s the number of schedules and n that of the steps of the
///   workflow.
@discardableResult
public func exploreRestarts<ExternalState>(
  randomSchedules: Int = 10,
  stepLimit: Int = 20_000,
  seed: UInt64 = 1,
  fileID: String = #fileID,
  line: Int = #line,
  externalState: () throws -> ExternalState,
  of workflow: (SimulatedEnvironment, InMemoryJournal, ExternalState) throws -> AdvancedOperation,
  check: (ExternalState) throws -> Void
) throws -> RestartReport {
  try withoutActuallyEscaping(externalState) { externalState in
    try withoutActuallyEscaping(workflow) { workflow in
      try withoutActuallyEscaping(check) { check in
        let explorer = RestartExplorer(
          makeState: externalState,
          workflow: workflow,
          checkState: check,
          stepLimit: stepLimit,
          fileID: fileID,
          line: line
        )
        return try explorer.explore(randomSchedules, from: seed)
      }
    }
  }
}
