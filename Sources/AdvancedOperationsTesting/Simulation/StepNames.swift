import AdvancedOperations
import CoreOperations

/// Names for operations, queues, tasks and steps: the same in each run with the same choices.
///
/// Nothing of an address or a hash gets into them.
struct StepNames {
  private struct Named {
    weak var operation: Operation?
    let record: WatchedOperation
  }

  private struct NamedQueue {
    weak var queue: (any SteppedQueue)?
    let name: String
  }

  private var counts: [String: Int] = [:]
  private var operationNames: [ObjectIdentifier: Named] = [:]
  private var queueNames: [ObjectIdentifier: NamedQueue] = [:]
  private var order: [WatchedOperation] = []
  private var queueOrder: [ObjectIdentifier] = []
  private var records: [String: WatchedOperation] = [:]
  /// Tasks by what the runtime calls them.
  private var tasks: [String: JobName] = [:]

  /// Whether operations that are seen from now on are kept alive.
  var keepsOperations = false
  /// The operations that are kept alive.
  var kept: [Operation] = []

  init() {}

  /// The name itself the first time, then with a number.
  mutating func unique(_ name: String) -> String {
    counts[name, default: 0] += 1
    let count = counts[name] ?? 1
    return count == 1 ? name : "\(name) #\(count)"
  }

  /// What is known of an operation; its label is asked for without a lock held.
  mutating func record(of operation: Operation, label: String) -> WatchedOperation {
    // An address is used again when its operation is gone.
    if let named = operationNames[ObjectIdentifier(operation)], named.operation === operation {
      return named.record
    }
    let record = WatchedOperation(operation, name: unique(label))
    operationNames[ObjectIdentifier(operation)] = Named(operation: operation, record: record)
    records[record.name] = record
    order.append(record)
    if keepsOperations { kept.append(operation) }
    return record
  }

  mutating func name(of queue: any SteppedQueue, label: String) -> String {
    if let named = queueNames[ObjectIdentifier(queue)], named.queue === queue {
      return named.name
    }
    let name = unique(label)
    queueNames[ObjectIdentifier(queue)] = NamedQueue(queue: queue, name: name)
    queueOrder.append(ObjectIdentifier(queue))
    return name
  }

  mutating func describe(_ step: WorkerStep, label: String) -> (verb: String, subject: String) {
    switch step {
    case .decide(let queue): ("worker of", name(of: queue, label: label))
    case .barrier(let queue): ("barrier of", name(of: queue, label: label))
    case .evaluate(let operation): ("evaluate", record(of: operation, label: label).name)
    case .start(let operation): ("start", record(of: operation, label: label).name)
    case .complete(let operation): ("completion of", record(of: operation, label: label).name)
    }
  }

  /// A number for each operation that was named, from its name alone.
  var numbers: [ObjectIdentifier: UInt64] {
    operationNames.mapValues { Fingerprint(of: $0.record.name).low }
  }

  /// What a job is called; a task keeps the name with which it was first seen.
  ///
  /// The runtime has jobs that aren't tasks, and gives all of them the same identity: a yield of a
  /// task, and the turn in which an actor runs what was called on it. They are called after the
  /// task that added them, which is the one that the place is in.
  mutating func job(_ identity: String, addedIn place: StepPlace) -> JobName {
    if identity.hasSuffix("(id: nil)") {
      let task = place.task ?? "task of \(place.subject)"
      let name = place.isInTask ? task : "actor turn of \(place.subject)"
      return JobName(step: name, subject: place.subject, task: task)
    }
    if let known = tasks[identity] { return known }
    let name = unique("task of \(place.subject)")
    let task = JobName(step: name, subject: place.subject, task: name)
    tasks[identity] = task
    return task
  }

  func took(_ step: String, for subject: String, at time: Duration) {
    records[subject]?.took(step, at: time)
  }

  func sleeps(_ subject: String) { records[subject]?.sleeps() }

  var operations: [WatchedOperation] { order }

  var queues: [any SteppedQueue] { queueOrder.compactMap { queueNames[$0]?.queue } }
}

/// Where something is added.
struct StepPlace {
  /// The operation or queue whose step goes on; “outside” when none does.
  var subject: String
  /// The task that the step runs; nil when it runs none.
  var task: String?
  /// Whether code of a task runs, and not the runtime between two of them.
  var isInTask = false
}

/// What a job is called.
struct JobName {
  /// The step that the job is.
  let step: String
  /// The operation or queue that it is for.
  let subject: String
  /// The task that it is, or belongs to.
  let task: String
}

/// What a simulation knows of one operation.
final class WatchedOperation: Sendable {
  private struct State {
    weak var operation: Operation?
    var lastStep = "none"
    var time = Duration.zero
    /// Whether the operation waits for the test, and the test knows.
    var heldCount = 0
    var hasSlept = false
  }

  let name: String
  private let state: Locked<State>

  init(_ operation: Operation, name: String) {
    self.name = name
    state = Locked(State(operation: operation))
  }

  var operation: Operation? { state.withLock { $0.operation } }

  func took(_ step: String, at time: Duration) {
    state.withLock { state in
      state.lastStep = step
      state.time = time
    }
  }

  func held(_ change: Int) { state.withLock { $0.heldCount += change } }

  /// Whether the operation waits for the test.
  var isHeld: Bool { state.withLock { $0.heldCount > 0 } }

  /// Code of the operation sleeps by the clock of the simulation.
  func sleeps() { state.withLock { $0.hasSlept = true } }

  var hasSlept: Bool { state.withLock { $0.hasSlept } }

  func stray(because reason: (AdvancedOperation) -> String?) -> StrayOperation? {
    let (operation, step, time, isHeld) = state.withLock {
      ($0.operation as? AdvancedOperation, $0.lastStep, $0.time, $0.heldCount > 0)
    }
    guard let operation, !isHeld else { return nil }
    let current = operation.state
    switch current {
    case .pending, .ready, .finished: return nil
    case .evaluatingConditions, .executing, .finishing: break
    }
    // A group waits for its children, who speak for themselves.
    if let group = operation as? GroupOperation, group.children.contains(where: { !$0.isFinished })
    {
      return nil
    }
    return StrayOperation(
      name: name,
      state: current,
      lastStep: step,
      time: time,
      reason: reason(operation)
    )
  }
}
