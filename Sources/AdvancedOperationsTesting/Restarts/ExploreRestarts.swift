public import AdvancedOperations

/// Simulates a crash after each step of a workflow with a journal, and checks the run after the restart.
///
/// The exploration first runs the workflow without a crash. Then it runs the workflow again and again, and
/// ends each run one step later: this is the *crash*. After the crash, it restarts the workflow with the
/// records in the journal, and with nothing else. Some restarted runs, chosen at random, crash too. The
/// exploration also tries restarts with each possible beginning of the journal: its first record, its first
/// two records, and so on.
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
/// After the last restart, the exploration expects that
///
/// - the operation has finished with the same kind of outcome and the same value as without a crash,
/// - an operation whose value was recorded before the restart hasn't executed again, and
/// - the journal has the same keys as without a crash, with the same values.
///
/// A test finds memory that a restart doesn't restore, and keys that differ in each run. It also finds one
/// key for two operations that run at the same time. A test doesn't find one key for two operations that
/// run one after the other. In this case, the second operation takes the value of the first operation, like
/// a second attempt. Values are compared only if they are `Equatable`.
///
/// No code of a crashed run continues. The operations of the run are released, as ``SimulatedEnvironment``
/// describes. A suspended task stays in memory until the tests end, with the objects that its code uses.
///
/// A long exploration writes a line on standard error every ten seconds of real time, with the number of
/// restarts so far. The exploration also reports a run that doesn't end. If the workflow changes external
/// state, such as a database, test it with
/// ``exploreRestarts(randomSchedules:stepLimit:seed:fileID:line:externalState:of:check:)``.
///
/// - Parameters:
///   - randomSchedules: The number of orders of steps in which the workflow crashes; one at least.
///   - stepLimit: The number of steps after which a run fails, because it may have no end.
///   - seed: The seed of the first order of steps; the next order has the next seed.
///   - fileID: The file of the call.
///   - line: The line of the call.
///   - workflow: A closure that creates the operations, adds them to queues of the simulation, and returns
///     the operation whose outcome and value are compared. The closure is called for each run, and has to
///     create everything that the workflow uses. It doesn't run the simulation.
/// - Returns: A report with the number of schedules and restarts.
/// - Throws: ``ExpectationFailure`` for the first restart after which an expectation isn't met, with the
///   seed, the step and the recorded keys. Throws the same error if `workflow` throws, with the error as
///   ``ExpectationFailure/underlying``, if `workflow` runs the simulation, and if it takes no step. A
///   workflow in which no operation records a value also throws, because a restart has nothing to resume
///   from. Throws `CancellationError` if the task that explores is cancelled, for example by the time limit
///   of a test.
/// - Complexity: O(s · n²) steps, s the number of schedules and n the number of steps of the workflow.
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

/// Simulates a crash after each step of a workflow, and checks the state outside of the process.
///
/// For example, a test finds a card that is charged twice, or a mail that is never sent.
///
/// *External state* outlives the process: a bank, a mailbox, a file. A *series* is a first run, and the runs
/// after its crashes. The exploration creates the external state once for each series. The runs of a series
/// have the same state and the same journal. `check` inspects the state after the last run.
///
/// In this example, a crash can happen after the card was charged, and before the charge is in the journal.
/// The next run then charges the card again. The bank recognizes the charge by its id.
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
/// The exploration expects everything that
/// ``exploreRestarts(randomSchedules:stepLimit:seed:fileID:line:of:)`` expects, except records: a workflow
/// may record nothing if `check` accepts its external state. In a restart with only a beginning of the
/// journal, the external state is the state after a run without a crash.
///
/// - Parameters:
///   - randomSchedules: The number of orders of steps in which the workflow crashes; one at least.
///   - stepLimit: The number of steps after which a run fails, because it may have no end.
///   - seed: The seed of the first order of steps; the next order has the next seed.
///   - fileID: The file of the call.
///   - line: The line of the call.
///   - externalState: A closure that creates the external state: an object, or several objects in a struct or
///     tuple. The closure is called once for each series.
///   - workflow: A closure that creates the operations, adds them to queues of the simulation, and returns
///     the operation whose outcome and value are compared. The closure is called for each run, and has to
///     create everything that the workflow uses, except the external state. It doesn't run the simulation.
///   - check: A closure that inspects the external state after the last run of each series, and throws if
///     something is wrong. The closure is also called after a run without a crash.
/// - Returns: A report with the number of schedules and restarts.
/// - Throws: ``ExpectationFailure`` with the seed, the step, and the recorded keys, for the same reasons as
///   ``exploreRestarts(randomSchedules:stepLimit:seed:fileID:line:of:)``. If `externalState`, `workflow` or
///   `check` threw an error, the failure contains it as ``ExpectationFailure/underlying``.
/// - Complexity: O(s · n²) steps, s the number of schedules and n the number of steps of the workflow.
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
