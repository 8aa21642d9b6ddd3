import AdvancedOperations
import CoreOperations

/// The subject of the step that runs on a thread, which is also the subject of the steps that it
/// adds.
final class StepContext {
  private let simulation: Simulation
  private let subject: StepSubject
  private let task: StepTask?
  /// The context of the step of another simulation in which this step runs.
  private let outer: StepContext?

  private init(
    _ simulation: Simulation,
    _ subject: StepSubject,
    _ task: StepTask?,
    inside outer: StepContext?
  ) {
    self.simulation = simulation
    self.subject = subject
    self.task = task
    self.outer = outer
  }

  private static let current = ThreadLocal<StepContext>()

  static func run(
    in simulation: Simulation,
    subject: StepSubject,
    task: StepTask? = nil,
    _ body: () -> Void
  ) {
    let outer = current.value
    let context = StepContext(simulation, subject, task, inside: outer)
    current.value = context
    defer { withExtendedLifetime(context) { current.value = outer } }
    body()
  }

  /// Returns whether a step of a simulation is running on this thread.
  static func isStep(of simulation: Simulation) -> Bool {
    var context = current.value
    while let step = context {
      if step.simulation === simulation { return true }
      context = step.outer
    }
    return false
  }

  /// Returns the subject of the simulation's step on this thread; ``StepSubject/outside`` without
  /// such a step.
  static func subject(in simulation: Simulation) -> StepSubject {
    guard let context = current.value, context.simulation === simulation else { return .outside }
    return context.subject
  }

  /// Returns the place at which a job is added.
  static func place(in simulation: Simulation) -> StepPlace {
    let isInTask = unsafe withUnsafeCurrentTask { unsafe $0 != nil }
    guard let context = current.value, context.simulation === simulation else {
      return StepPlace(subject: .outside, isInTask: isInTask)
    }
    return StepPlace(subject: context.subject, task: context.task, isInTask: isInTask)
  }
}

/// The operation, queue or code that a step is for.
struct StepSubject: Hashable, Sendable {
  /// The number of the subject, which no other subject has, and which is the same in each run with
  /// the same choices.
  let number: UInt64
  /// The name of the subject, for reading only: two subjects may have the same name.
  let name: String

  /// The code that runs the simulation.
  static let outside = StepSubject(number: 0, name: "outside")

  static func == (a: StepSubject, b: StepSubject) -> Bool { a.number == b.number }
  func hash(into hasher: inout Hasher) { hasher.combine(number) }
}

/// A task that a step is a part of.
struct StepTask: Sendable {
  /// The number of the task, which no other task has, and which is the same in each run with the
  /// same choices.
  let number: Fingerprint
  let name: String
}

/// The code that adds a step.
struct StepPlace {
  var subject: StepSubject
  /// The task that the running step is a part of; nil if it isn't a part of a task.
  var task: StepTask?
  /// Whether the code is in a task, and not in the runtime between two tasks.
  var isInTask = false
}

/// The kind of a step, which is a part of its identity.
enum StepKind: UInt64 {
  case decide = 1, barrier, evaluate, start, complete, becomeIdle
  case task, yield, actorTurn, timer, part, added, addedAtAnyTime, rest, time
}

extension Fingerprint {
  /// Creates the identity of a step.
  ///
  /// - Parameters:
  ///   - kind: The kind of the step.
  ///   - subject: The number of the subject.
  init(_ kind: StepKind, of subject: UInt64) {
    self.init()
    add(kind.rawValue)
    add(subject)
  }

  /// Creates the identity of a step of a task, or of one of several steps.
  init(_ kind: StepKind, of task: Fingerprint, count: UInt64 = 0) {
    self.init()
    add(kind.rawValue)
    add(task)
    add(count)
  }
}

/// A run of a workflow that an explorer stops after a number of steps.
///
/// The `deinit` releases the operations of the workflow.
final class SteppedRun {
  let simulation: SimulatedEnvironment
  private let call: String

  /// - Parameters:
  ///   - seed: The seed of the simulation.
  ///   - call: The name of the explorer.
  ///   - stepLimit: The number of steps that the run may have.
  ///   - progress: The progress of the exploration.
  init(seed: UInt64, call: String, _ stepLimit: Int, _ progress: ExplorationProgress) {
    simulation = SimulatedEnvironment(seed: seed)
    self.call = call
    simulation.simulation.withState { $0.stepLimit = stepLimit }
    progress.begins(simulation.simulation)
  }

  // A suspended task, or the workflow, may still retain the simulation.
  deinit { simulation.simulation.abandon() }

  /// The number of steps that were taken.
  var stepCount: Int { simulation.simulation.withState { $0.takenCount } }

  /// Takes steps until the run has a number of steps, or nothing can happen any more.
  ///
  /// - Throws: `CancellationError` if the task that explores is cancelled.
  func proceed(upTo limit: Int) throws {
    let simulation = simulation.simulation
    simulation.run(until: nil, call: call) { simulation.withState { $0.takenCount } >= limit }
    try simulation.checkNotCancelled()
  }

  /// Returns a remark if the closure of a test has run the simulation itself; otherwise nil.
  ///
  /// An explorer can't stop after a step that the closure takes.
  ///
  /// - Parameters:
  ///   - explorer: The name of the function that takes the steps.
  ///   - purpose: The reason why the explorer takes the steps, as the end of a sentence.
  /// - Returns: A clause about “the closure”, and a sentence with advice.
  func remark(aboutRunBefore explorer: String, _ purpose: String) -> String? {
    guard let call = simulation.simulation.withState({ $0.lastCall }) else { return nil }
    return "the closure ran the simulation, with \(call). Remove the call: the closure only "
      + "creates operations and adds them to queues. \(explorer) takes the steps, so that \(purpose)."
  }
}

/// An executor for queues and tasks that turns their work into steps.
final class SimulatedExecutor: SteppedExecutor, TaskExecutor {
  private let simulation: Simulation

  init(simulation: Simulation) { self.simulation = simulation }

  func enqueue(_ worker: @escaping @Sendable () -> Void) { simulation.addPart(worker) }

  func enqueue(_ step: WorkerStep, _ body: @escaping @Sendable () -> Void) {
    simulation.add(step, body)
  }

  func didCreate(_ queue: any SteppedQueue) { simulation.didCreate(queue) }

  func enqueue(_ job: consuming ExecutorJob) { simulation.add(UnownedJob(job), on: self) }

  /// A worker starts only one operation, because each start is a step.
  var operationsPerWorker: Int { 1 }
}
