public import AdvancedOperations
import CoreOperations

/// A world in which a test moves the time, and one thing happens at a time.
///
/// Everything that operations do in it (decisions of queues, starts, async bodies, conditions,
/// timeouts, retries) becomes a step. ``run()`` takes the steps one after the other on the calling
/// thread. Each time it picks one of the pending steps at random. The seed determines the picks, so
/// equal seeds give equal interleavings and equal ``log``s. If no step is pending, time moves to
/// the next timer, so that a day of waiting takes no time.
///
/// ```swift
/// let simulation = SimulatedEnvironment(seed: 1)
/// let queue = AdvancedOperationQueue(environment: simulation.environment)
/// let download = ResultOperation(retry: .constant(.seconds(60)).attempts(3)) { throw Offline() }
/// queue.addOperation(download)
/// simulation.run()
/// #expect(download.errors.count == 3)
/// #expect(simulation.now == .seconds(120))
/// ```
///
/// What leaves the simulation (a thread of its own, a real sleep, the main actor) isn't waited for;
/// ``strays`` names it. What would go on in silence is reported on standard error after ten seconds
/// of real time: a step that blocks its thread, steps that nothing runs because ``run()`` was
/// forgotten, and a run that doesn't end because the workflow doesn't. Calls of ``step()`` one
/// after the other are one run.
///
/// Keep a simulation as long as its operations are to run. When you release it, its queues release
/// the operations that have not finished. Such an operation keeps its state, is in no queue, and
/// has no dependencies; its body, conditions and observers are released without being called, and
/// an operation that you add later isn't taken in. Only tasks stay in memory: Swift can't release a
/// task that is suspended or has not begun. Each of them keeps what its own code uses. To release
/// that too, call `cancelAllOperations()` on the queues, and ``run()``, before you release the
/// simulation.
///
/// One thread at a time runs a simulation; everything else can be used from any.
public final class SimulatedEnvironment: Sendable {
  let simulation: Simulation

  /// The seeds that a test runs with unless it has a reason for others: 1 to 10.
  ///
  /// One seed is one order of steps, and hides the mistakes that only another order shows. With
  /// these seeds as arguments a test runs in up to ten orders:
  ///
  /// ```swift
  /// @Test(arguments: SimulatedEnvironment.seeds)
  /// func `an upload ends`(seed: UInt64) throws {
  ///   let simulation = SimulatedEnvironment(seed: seed)
  ///   let queue = AdvancedOperationQueue(environment: simulation.environment)
  ///   let upload = ResultOperation(name: "upload") { 1 }
  ///   queue.addOperation(upload)
  ///   simulation.run()
  ///   try expectOutcome(of: upload, is: .succeeded)
  /// }
  /// ```
  ///
  /// Swift Testing prints the argument of a case that fails, and ``ExpectationFailure`` the seed.
  /// To try every order, call
  /// ``exploreSchedules(depthFirst:randomSchedules:stepLimit:seed:fileID:line:of:)``.
  public static let seeds: ClosedRange<UInt64> = 1...10

  /// Creates a world at time zero, with a claim domain of its own.
  ///
  /// - Parameter seed: Equal seeds give equal runs.
  public convenience init(seed: UInt64) {
    self.init(simulation: Simulation(seed: seed, chooser: SeededChooser(seed: seed)))
  }

  /// Creates a world that goes the way of a schedule, as a ``ScheduleFailure`` carries it.
  ///
  /// ```swift
  /// let simulation = SimulatedEnvironment(replaying: "1;2=1")
  /// ```
  ///
  /// Whether the schedule fits what was run is in ``replayMismatch`` afterwards.
  ///
  /// - Parameter schedule: Where the schedule says nothing, the first of the pending steps is
  ///   taken; nil is returned for what is no schedule.
  public convenience init?(replaying schedule: String) {
    guard let schedule = Schedule(schedule) else { return nil }
    self.init(
      simulation: Simulation(seed: schedule.seed, chooser: schedule.chooser)
    )
  }

  init(simulation: Simulation) { self.simulation = simulation }

  deinit { simulation.abandon() }

  /// What the simulation began with; print it when a test fails.
  public var seed: UInt64 { simulation.seed }

  /// The environment to give to queues.
  public var environment: OperationEnvironment {
    var environment = OperationEnvironment(
      clock: OperationClock(source: SimulatedClock(simulation: simulation)),
      executor: SimulatedExecutor(simulation: simulation),
      claimDomain: simulation.claimDomain
    )
    let simulation = simulation
    environment.random = { simulation.random() }
    environment.tracer = SimulationTracer(simulation: simulation)
    return environment
  }

  /// The virtual time since the beginning.
  public var now: Duration { simulation.now }

  // MARK: Running

  /// Takes steps, and moves time, until nothing can happen any more.
  ///
  /// A workflow without an end (a `RepeatOperation` without `times`, a retry that goes on for
  /// ever) keeps it going for ever: `run(until:)` ends at a time. A body that sleeps until the end
  /// of time, such as `clock.sleep(for: .seconds(Int64.max))`, doesn't: time never moves there, and
  /// the operation is among the ``strays``.
  ///
  /// If the task that calls this is cancelled, as by the `.timeLimit` of a test, the run ends
  /// before the next step. Standard error then says so, with the last steps, because what a test
  /// finds afterwards isn't the end of its workflow.
  ///
  /// - Precondition: Not called from a step, nor while another thread runs the simulation.
  public func run() { simulation.run(until: nil, call: Simulation.wholeRun) { false } }

  /// Takes steps, and moves time, until a condition is true.
  ///
  /// ```swift
  /// try simulation.run(until: { upload.isExecuting })
  /// upload.cancel()
  /// simulation.run()
  /// ```
  ///
  /// A closure without `await` that returns a `Bool` is such a condition, even if you leave out the
  /// label `until`. A condition can't `await`, because it is evaluated between the steps. A closure
  /// with `await` is code of the simulation: ``run(fileID:line:_:)`` runs it once and
  /// returns its value, and the compiler warns if you don't use that value.
  ///
  /// - Parameters:
  ///   - fileID: The file of the call.
  ///   - line: The line of the call.
  ///   - condition: The condition, which is evaluated before each step, on the calling thread.
  /// - Throws: ``ExpectationFailure`` if nothing can happen any more and the condition is still
  ///   false; it names the operations that have not finished, and what each of them waits for. An
  ///   error that the condition throws, which ends the run. `CancellationError` if the task that
  ///   calls this is cancelled first; see ``run()``.
  /// - Precondition: Not called from a step, nor while another thread runs the simulation.
  public func run(
    fileID: String = #fileID,
    line: Int = #line,
    until condition: () throws -> Bool
  ) throws {
    var error: (any Error)?
    let end = simulation.run(until: nil, call: "run(until:)") {
      do {
        return try condition()
      } catch let thrown {
        error = thrown
        return true
      }
    }
    if let error { throw error }
    switch end {
    case .enough: return
    case .cancelled: throw CancellationError()
    case .idle:
      throw ExpectationFailure(
        "The condition of run(until:) has not become true. \(simulation.whyIdle)",
        seed: seed,
        fileID: fileID,
        line: line
      )
    }
  }

  /// Takes the steps that happen until a time, and moves time to it.
  ///
  /// If the task that calls this is cancelled, it ends as ``run()`` does.
  ///
  /// - Parameter time: One in the past takes what is due now, without moving time. With the end of
  ///   time, this is the same as ``run()``.
  /// - Precondition: Not called from a step, nor while another thread runs the simulation.
  public func run(until time: Duration) {
    simulation.run(until: time, call: "run(until:)") { false }
  }

  /// Takes the steps that happen within a time, and moves time to its end.
  ///
  /// If the task that calls this is cancelled, it ends as ``run()`` does.
  ///
  /// - Parameter duration: Zero, or less, takes what is due now, without moving time.
  /// - Precondition: Not called from a step, nor while another thread runs the simulation.
  public func advance(by duration: Duration) {
    let end = simulation.now.saturatingAdding(duration)
    simulation.run(until: end, call: "advance(by:)") { false }
  }

  /// Takes one step; moves time first when nothing can be done before the next timer.
  ///
  /// - Returns: Whether there was one. False if the task is cancelled; see ``run()``.
  /// - Precondition: Not called from a step, nor while another thread runs the simulation.
  @discardableResult
  public func step() -> Bool { simulation.stepOnce() }

  /// Adds a step that does something, at whichever moment the schedule picks.
  ///
  /// What a test does from outside, a cancel for example, so meets the operations in all of their
  /// states, instead of in the one that the test was written for.
  ///
  /// ```swift
  /// simulation.addStep("cancel") { upload.cancel() }
  /// simulation.run()
  /// ```
  ///
  /// Time moves when no step is left, so this step is taken at the time at which it was added. One
  /// *at any time* doesn't keep time from moving: when only such steps are left and a timer is due
  /// later, the schedule picks one of them or lets time move on to that timer. Without a timer they
  /// are taken. So it meets what sleeps, too: a body, the delay before a retry, a time limit. An
  /// exploration that is complete has tried all of these moments, and each is equally likely in its
  /// schedules at random. In a simulation with a seed, the step is nearly always taken at one of
  /// the first times.
  ///
  /// ```swift
  /// let report = try exploreSchedules { simulation in
  ///   let queue = AdvancedOperationQueue(environment: simulation.environment)
  ///   let clock = simulation.environment.clock
  ///   let pack = ResultOperation(name: "pack") { try await clock.sleep(for: .seconds(1)) }
  ///   let send = pack.then(name: "send") { try await clock.sleep(for: .seconds(1)) }
  ///   queue.addOperations([pack, send])
  ///   simulation.addStep("cancel", atAnyTime: true) { send.cancel() }
  ///   simulation.run()
  ///   if !send.isFinished { throw Stuck() }
  /// }
  /// #expect(report.isComplete)
  /// ```
  ///
  /// ``run(until:)`` and ``advance(by:)`` may leave such a step for the next run.
  ///
  /// - Parameters:
  ///   - name: What the step is called in ``pending`` and ``log``.
  ///   - atAnyTime: Whether time may move before the step is taken.
  ///   - body: Runs once, without a lock held.
  public func addStep(
    _ name: String,
    atAnyTime: Bool = false,
    _ body: @escaping @Sendable () -> Void
  ) {
    simulation.add(.work(body), named: name, atAnyTime: atAnyTime)
  }

  // MARK: Looking

  /// The names of the steps that could be next, in the order in which they became so.
  ///
  /// The name of a step says what it does, and for which operation or queue: `start download`,
  /// `task of download`. A second operation with the same name gets the number 2: `start download
  /// #2`. So do a second task and a second timer of one operation: `task of download #2` is an
  /// `async let` or a task of a group. A task keeps its name for all of its parts. In `actor turn
  /// of download`, an actor runs a call of the operation, and calls that others make in the
  /// meantime. Names are for reading only: a simulation doesn't tell steps apart by their names.
  ///
  /// A timer isn't a step before it is due. So an empty list doesn't mean that nothing will happen.
  public var pending: [String] { simulation.pending }

  /// What has happened, a line each: which step was picked, and which states were entered.
  ///
  /// Equal byte for byte for equal seeds. If lines are left off because of the ``logLimit``, the
  /// first line says how many.
  ///
  /// An exploration releases the log of a schedule that leaves operations unfinished: it is empty
  /// when the exploration has gone on to the next one.
  ///
  /// - Complexity: O(n), n the number of lines.
  public var log: String { simulation.log.text }

  /// The number of lines that the ``log`` keeps, which are the last ones; 100,000 unless set, and
  /// nil for all lines.
  ///
  /// A round of a poll takes about ten lines, and a line about 100 bytes. With 0 a simulation keeps
  /// no log. Explorations compare all lines, including those that are left off.
  ///
  /// ```swift
  /// simulation.logLimit = 1_000
  /// simulation.run(until: .seconds(86_400 * 365))
  /// ```
  ///
  /// - Precondition: Not negative.
  public var logLimit: Int? {
    get { simulation.log.limit }
    set {
      if let newValue, newValue < 0 {
        trap("logLimit of a SimulatedEnvironment was set to \(newValue). Set 0 or more, or nil.")
      }
      simulation.withState { $0.log.keep(newValue) }
    }
  }

  /// The operations whose conditions or bodies have not ended, although nothing can happen any
  /// more.
  ///
  /// A body that sleeps by the clock until the end of time is listed with that as the reason.
  ///
  /// Such an operation waits for something that the simulation doesn't know: a detached task, a
  /// real sleep, the main actor, an executor of its own; or for something that doesn't come. What
  /// waits for a ``ConditionProbe`` or is a ``HeldOperation`` waits for the test, and isn't listed.
  /// Empty as long as a step or a timer is pending.
  public var strays: [StrayOperation] { simulation.strays }

  /// Which choices of the schedule that is replayed could not be made; nil when all were.
  ///
  /// Then the workflow isn't the one in which the schedule was found, or not any more. Look at it
  /// when the simulation has run: before that, the choices to come are named. Always nil unless the
  /// simulation was made with ``init(replaying:)``.
  ///
  /// ```swift
  /// let simulation = try #require(SimulatedEnvironment(replaying: "1;2=1"))
  /// try upload(in: simulation)
  /// #expect(simulation.replayMismatch == nil)
  /// ```
  public var replayMismatch: String? { simulation.withState { $0.chooser.misfit } }

  /// The number of timers, including those at the end of time.
  package var timerCount: Int { simulation.withState { $0.alarms.count } }
  /// The number of operations, queues, tasks and names that are kept for the names of steps.
  package var rememberedNameCount: Int { simulation.withState { $0.names.count } }

  /// The real time after which a step, a run, or a wait for one is reported; ten seconds unless
  /// set.
  ///
  /// That is a step that blocks its thread, a run that doesn't end, and steps that are pending
  /// while nothing runs them.
  public var watchdogInterval: Duration {
    get { simulation.watchdogInterval }
    set { simulation.watchdogInterval = newValue }
  }

  /// Whether a step that blocks its thread for ``watchdogInterval`` of real time ends the process.
  ///
  /// False unless it is set: the report goes to standard error, and the test hangs until something
  /// stops the test run. A thread that is blocked can't be made to continue, so the only way to end
  /// the test is to end its process. If this is true, the process traps with the sentence of the
  /// report, such as *the step “start store” has blocked its thread for 10 s*, and the tests after
  /// that one don't run.
  ///
  /// Set it if a test run that hangs costs more than one that ends early, for example on a server
  /// that only says *timed out*.
  public var trapsWhenBlocked: Bool {
    get { simulation.trapsWhenBlocked }
    set { simulation.trapsWhenBlocked = newValue }
  }
}
