public import AdvancedOperations
import CoreOperations

/// An environment with virtual time, in which a test runs operations one step at a time.
///
/// A *step* is one action of a queue or an operation: a decision, a start, a part of an async body
/// or condition, a timeout, a retry. ``run()`` takes the steps one after the other on the calling
/// thread. Each time it picks one of the pending steps at random. The seed determines the picks, so
/// equal seeds lead to equal interleavings and equal ``log``s. If no step is pending, time moves to
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
/// A simulation doesn't wait for code that leaves it: for another thread, a real sleep, or the main
/// actor. ``strays`` contains the operations of such code. After ten seconds of real time, the
/// simulation reports a problem on standard error. It reports a step that blocks its thread, pending
/// steps that nothing runs, and a run that doesn't end. Consecutive calls of ``step()`` are one run.
///
/// Keep a simulation as long as its operations are to run. When you release it, its queues release
/// the operations that have not finished. Such an operation keeps its state, isn't in a queue, and
/// has no dependencies. Its body, conditions and observers are released without being called. If
/// you add an operation later, the queue doesn't accept it. Only tasks stay in memory, because
/// Swift can't release a task that is suspended or has not begun. Each of these tasks keeps the
/// objects that its code uses. To release them too, call `cancelAllOperations()` on the queues, and
/// ``run()``, before you release the simulation.
///
/// Only one thread at a time may run a simulation. You can use all other members from any thread.
public final class SimulatedEnvironment: Sendable {
  let simulation: Simulation

  /// The seeds for a test that has no reason for other seeds: 1 to 10.
  ///
  /// A seed determines one order of the steps. A test with one seed misses bugs that occur only in
  /// another order. With these seeds as arguments, a test runs in up to ten orders:
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
  /// Swift Testing prints the argument of a failed case, and ``ExpectationFailure`` contains the
  /// seed. To try every order, call
  /// ``exploreSchedules(depthFirst:randomSchedules:stepLimit:seed:fileID:line:of:)``.
  public static let seeds: ClosedRange<UInt64> = 1...10

  /// Creates a simulation at time zero, with a separate claim domain.
  ///
  /// - Parameter seed: The seed of all random choices; equal seeds lead to equal runs.
  public convenience init(seed: UInt64) {
    self.init(simulation: Simulation(seed: seed, chooser: SeededChooser(seed: seed)))
  }

  /// Creates a simulation that replays a schedule, such as the schedule of a ``ScheduleFailure``.
  ///
  /// ```swift
  /// let simulation = SimulatedEnvironment(replaying: "1;2=1")
  /// ```
  ///
  /// If the schedule doesn't fit the workflow, ``replayMismatch`` isn't nil after the run.
  ///
  /// - Parameter schedule: The text of the schedule. At choices that the schedule doesn't contain,
  ///   the simulation takes the first pending step. If the text isn't a schedule, the initializer
  ///   returns nil.
  public convenience init?(replaying schedule: String) {
    guard let schedule = Schedule(schedule) else { return nil }
    self.init(
      simulation: Simulation(seed: schedule.seed, chooser: schedule.chooser)
    )
  }

  init(simulation: Simulation) { self.simulation = simulation }

  deinit { simulation.abandon() }

  /// The seed of the simulation; print it if a test fails.
  public var seed: UInt64 { simulation.seed }

  /// The environment for queues of the simulation.
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

  /// The virtual time, which is zero when the simulation is created.
  public var now: Duration { simulation.now }

  // MARK: Running

  /// Takes steps, and moves time, until nothing can happen any more.
  ///
  /// If a workflow has no end, this method never returns. Examples are a `RepeatOperation` without
  /// `times`, and an endless retry. Call `run(until:)` instead, which ends at a time. The method
  /// does return if a body sleeps until the end of time, as with
  /// `clock.sleep(for: .seconds(Int64.max))`. Virtual time never moves to the end of time, and the
  /// operation is among the ``strays``.
  ///
  /// If the calling task is cancelled, for example by the `.timeLimit` of a test, the run ends
  /// before the next step. The simulation then reports the last steps on standard error, because
  /// the test inspects an unfinished workflow.
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
  /// A closure without `await` that returns a `Bool` is a condition for this method, even if you
  /// leave out the label `until`. A condition can't `await`, because it is evaluated between the
  /// steps. A closure with `await` is code of the simulation: ``run(fileID:line:_:)`` runs it once
  /// and returns its value, and the compiler warns if you don't use that value.
  ///
  /// - Parameters:
  ///   - fileID: The file of the call.
  ///   - line: The line of the call.
  ///   - condition: The condition, which is evaluated before each step, on the calling thread.
  /// - Throws: ``ExpectationFailure`` if nothing can happen any more and the condition is still
  ///   false. The failure names the operations that have not finished, with the causes of their
  ///   waits. Throws the error of the condition, which ends the run. Throws `CancellationError` if
  ///   the calling task is cancelled first; see ``run()``.
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

  /// Takes the steps until a virtual time, and moves time forward to it.
  ///
  /// If the calling task is cancelled, the run ends before the next step, as in ``run()``.
  ///
  /// - Parameter time: The virtual time. With a time in the past, the method takes only the steps
  ///   that are due, and doesn't move time. With the end of time, it is the same as ``run()``.
  /// - Precondition: Not called from a step, nor while another thread runs the simulation.
  public func run(until time: Duration) {
    simulation.run(until: time, call: "run(until:)") { false }
  }

  /// Takes the steps within a duration, and moves time forward by the duration.
  ///
  /// If the calling task is cancelled, the run ends before the next step, as in ``run()``.
  ///
  /// - Parameter duration: The duration. If it isn't positive, the method takes only the steps that
  ///   are due, and doesn't move time.
  /// - Precondition: Not called from a step, nor while another thread runs the simulation.
  public func advance(by duration: Duration) {
    let end = simulation.now.saturatingAdding(duration)
    simulation.run(until: end, call: "advance(by:)") { false }
  }

  /// Takes one step; moves time first if no step can be taken before the next timer.
  ///
  /// - Returns: Whether a step was taken. False if the calling task is cancelled; see ``run()``.
  /// - Precondition: Not called from a step, nor while another thread runs the simulation.
  @discardableResult
  public func step() -> Bool { simulation.stepOnce() }

  /// Adds a step that calls a closure once, before, between or after the other steps.
  ///
  /// The schedule decides when the step is taken. In an exploration, an action of the test, such as
  /// a cancel, therefore occurs in each state that the operations can have at that time. If the
  /// test calls `cancel()` itself, it tries only one state.
  ///
  /// ```swift
  /// simulation.addStep("cancel") { upload.cancel() }
  /// simulation.run()
  /// ```
  ///
  /// By default, the step is taken at the virtual time at which you add it, because time moves only
  /// if no step is left.
  ///
  /// With `atAnyTime: true`, time can move while the step is pending. If only such steps and timers
  /// are left, the schedule either takes a step or moves time to the next timer. The action can
  /// therefore occur while a body sleeps, during the delay before a retry, or just before a time
  /// limit. If no timer is left, the step is taken.
  ///
  /// A complete exploration tries the step at each of these times. An incomplete exploration also
  /// tries random schedules, and each moment is equally likely in them. A simulation that you
  /// create with a seed decides again at each timer, so it nearly always takes the step at one of
  /// the first timers.
  ///
  /// In this example, the action cancels the second of two operations that sleep. `Stuck` is an
  /// error of the test:
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
  /// ``run(until:)`` and ``advance(by:)`` may leave a step with `atAnyTime: true` for the next run.
  ///
  /// - Parameters:
  ///   - name: The name of the step in ``pending`` and ``log``.
  ///   - atAnyTime: Whether time may move while the step is pending.
  ///   - body: The closure. It may call any method, because no lock is held.
  public func addStep(
    _ name: String,
    atAnyTime: Bool = false,
    _ body: @escaping @Sendable () -> Void
  ) {
    simulation.add(.work(body), named: name, atAnyTime: atAnyTime)
  }

  // MARK: Inspecting

  /// The names of the pending steps, in the order in which they became pending.
  ///
  /// The name of a step consists of an action and its subject: `start download`,
  /// `task of download`. A second operation with the same name gets the number 2:
  /// `start download #2`. A second task or timer of an operation gets a number as well: if only
  /// one operation has the name, `task of download #2` is an `async let` or a task of a group. A
  /// task keeps its name for all of its parts. In `actor turn of download`, an actor runs a call
  /// of the operation, and calls that arrive in the meantime. Names are for reading only: a
  /// simulation doesn't identify steps by their names.
  ///
  /// A timer isn't a step before it is due, so an empty list doesn't mean that nothing will happen.
  public var pending: [String] { simulation.pending }

  /// The log of the simulation, with a line for each step and for each state that an operation
  /// entered.
  ///
  /// The logs of equal seeds are equal byte for byte. If lines are left off because of the
  /// ``logLimit``, the first line contains their number.
  ///
  /// If a schedule leaves operations unfinished, an exploration releases its log: the log is empty
  /// when the exploration has continued with the next schedule.
  ///
  /// - Complexity: O(n), n the number of lines.
  public var log: String { simulation.log.text }

  /// The maximum number of lines in the ``log``, which keeps the latest; 100,000 by default, and
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
  /// - Precondition: The limit isn't negative.
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
  /// If a body sleeps by the clock until the end of time, its operation is listed with this reason.
  ///
  /// Such an operation waits for something outside of the simulation: a detached task, a real
  /// sleep, the main actor, another executor. Or it waits for an event that never happens. A
  /// ``HeldOperation``, and an operation that waits for a ``ConditionProbe``, wait for the test,
  /// and aren't listed. The list is empty as long as a step or a timer is pending.
  public var strays: [StrayOperation] { simulation.strays }

  /// The choices of the replayed schedule that could not be made, in words; nil if all were made.
  ///
  /// If the property isn't nil, the schedule was found in another workflow, or the workflow has
  /// changed. Read it after the run, because it also names choices that the run has yet to make.
  /// The property is always nil unless the simulation was created with ``init(replaying:)``.
  ///
  /// ```swift
  /// let simulation = try #require(SimulatedEnvironment(replaying: "1;2=1"))
  /// try upload(in: simulation)
  /// #expect(simulation.replayMismatch == nil)
  /// ```
  public var replayMismatch: String? { simulation.withState { $0.chooser.misfit } }

  /// The number of timers, including timers at the end of time.
  package var timerCount: Int { simulation.withState { $0.alarms.count } }
  /// The number of operations, queues, tasks and names that are kept for the names of steps.
  package var rememberedNameCount: Int { simulation.withState { $0.names.count } }

  /// The real time after which the simulation reports that it can't progress; ten seconds by
  /// default.
  ///
  /// The simulation reports a step that blocks its thread, a run that doesn't end, and pending
  /// steps that nothing runs.
  public var watchdogInterval: Duration {
    get { simulation.watchdogInterval }
    set { simulation.watchdogInterval = newValue }
  }

  /// Whether a step that blocks its thread for ``watchdogInterval`` of real time ends the process.
  ///
  /// The default is false: the report goes to standard error, and the test hangs until something
  /// stops the test run. A blocked thread can't be made to continue, so the only way to end the
  /// test is to end its process. If the property is true, the process traps with the sentence of
  /// the report, such as *the step “start store” has blocked its thread for 10 s*. The tests after
  /// this test don't run.
  ///
  /// Set it to true if a hanging test run costs more than a run that ends early, for example on a
  /// server that only reports *timed out*.
  public var trapsWhenBlocked: Bool {
    get { simulation.trapsWhenBlocked }
    set { simulation.trapsWhenBlocked = newValue }
  }
}
