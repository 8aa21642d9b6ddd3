import AdvancedOperations
import CoreOperations

/// The numbers and names of operations, queues, tasks and steps: the same in each run with the same
/// choices.
///
/// Numbers and names contain no addresses and no hashes. Names are for reading only. Numbers identify
/// subjects. The numbers follow from the order in which the workflow's own code ran, not from the moment at
/// which a queue decides on an operation. Therefore two runs in which the same code has run in the same order
/// agree on all numbers.
struct StepNames {
  private struct Known {
    weak var operation: Operation?
    let number: UInt64
    var record: WatchedOperation?
  }

  private struct KnownQueue {
    weak var queue: (any SteppedQueue)?
    let number: UInt64
    var subject: StepSubject?
  }

  private var counts: [String: Int] = [:]
  private var stepCounts: [Fingerprint: UInt64] = [:]
  /// The last number that an operation, queue or code received; 0 is ``StepSubject/outside``.
  private var lastNumber: UInt64 = 0
  private var known: [ObjectIdentifier: Known] = [:]
  private var knownQueues: [ObjectIdentifier: KnownQueue] = [:]
  private var order: [WatchedOperation] = []
  /// The number of operations and queues at which the entries of released objects are removed.
  private var limit = 256
  private var queueOrder: [ObjectIdentifier] = []
  private var records: [UInt64: WatchedOperation] = [:]
  /// The tasks, by the identities that they have in the runtime.
  private var tasks: [String: (task: StepTask, subject: StepSubject)] = [:]

  /// Whether the operations that the simulation sees from now on are kept alive.
  var keepsOperations = false
  /// The operations that are kept alive.
  var kept: [Operation] = []

  init() {}

  /// Returns the name itself the first time, and later the name with a number.
  private mutating func unique(_ name: String) -> String {
    counts[name, default: 0] += 1
    let count = counts[name] ?? 1
    return count == 1 ? name : "\(name) #\(count)"
  }

  private mutating func nextNumber() -> UInt64 {
    lastNumber += 1
    return lastNumber
  }

  // MARK: Released objects

  /// Operations and queues that were released.
  struct Released {
    fileprivate var operations: [UInt64: String] = [:]
    fileprivate var queues: Set<UInt64> = []
  }

  /// The number of entries of all kinds.
  var count: Int {
    known.count + knownQueues.count + order.count + records.count + tasks.count + counts.count
      + stepCounts.count
  }

  /// Whether there are so many entries that the entries of released objects should be removed.
  var isFull: Bool { order.count + knownQueues.count >= limit }

  /// The released objects.
  ///
  /// Don't call this with a lock held, because another thread may release an object while this property
  /// retains it.
  var released: Released {
    var released = Released()
    for record in order where record.operation == nil {
      released.operations[record.subject.number] = record.name
    }
    for known in knownQueues.values where known.queue == nil {
      released.queues.insert(known.number)
    }
    return released
  }

  /// Removes the entries of released objects, so that a long run needs no more memory than a short run.
  ///
  /// The counts of labels are kept, because they distinguish equal labels.
  mutating func forget(_ released: Released) {
    let gone = released.operations
    order.removeAll { gone[$0.subject.number] != nil }
    for (number, name) in gone {
      records[number] = nil
      for kind in [StepKind.task, .timer, .part] {
        stepCounts[Fingerprint(kind, of: number)] = nil
      }
      for part in ["task of", "timer of", "part of"] { counts["\(part) \(name)"] = nil }
    }
    known = known.filter { gone[$0.value.number] == nil }
    // A task of an operation retains the operation.
    tasks = tasks.filter { gone[$0.value.subject.number] == nil }
    knownQueues = knownQueues.filter { !released.queues.contains($0.value.number) }
    queueOrder.removeAll { knownQueues[$0] == nil }
    limit = max(256, 2 * (order.count + knownQueues.count))
  }

  // MARK: Subjects

  /// Notes that an operation is about to be added to its queue, and assigns its number.
  mutating func willEnqueue(_ operation: Operation) { _ = number(of: operation, place: nil) }

  /// Returns the number of an operation.
  ///
  /// - Parameters:
  ///   - operation: The operation.
  ///   - place: A number for the place of the operation in its queue; nil if the simulation sees the
  ///     operation before its queue decides on it.
  /// - Returns: The same number each time.
  private mutating func number(of operation: Operation, place: UInt64?) -> UInt64 {
    let id = ObjectIdentifier(operation)
    // The address of a released operation can be used again.
    if let same = known[id], same.operation === operation { return same.number }
    let number = place ?? nextNumber()
    known[id] = Known(operation: operation, number: number)
    return number
  }

  /// Returns the record of an operation.
  ///
  /// - Parameters:
  ///   - operation: The operation.
  ///   - label: The label of the operation, which was read without a lock.
  ///   - place: The place of the operation in its queue, if the decisions of the queue are steps.
  /// - Returns: The same record each time.
  mutating func record(
    of operation: Operation,
    label: String,
    place: (queue: any SteppedQueue, number: UInt32)? = nil
  ) -> WatchedOperation {
    if let same = known[ObjectIdentifier(operation)], same.operation === operation,
      let record = same.record
    {
      return record
    }
    var placeNumber: UInt64?
    if let place {
      // These numbers are separate from the counted numbers.
      let queue = subject(of: place.queue, label: place.queue.label).number
      placeNumber = 1 << 63 | queue << 32 | UInt64(place.number)
    }
    let number = number(of: operation, place: placeNumber)
    let new = WatchedOperation(operation, StepSubject(number: number, name: unique(label)))
    known[ObjectIdentifier(operation)]?.record = new
    records[number] = new
    order.append(new)
    if keepsOperations { kept.append(operation) }
    return new
  }

  /// Notes that a queue was created, and assigns its number.
  mutating func didCreate(_ queue: any SteppedQueue) { _ = number(of: queue) }

  private mutating func number(of queue: any SteppedQueue) -> UInt64 {
    let id = ObjectIdentifier(queue)
    if let same = knownQueues[id], same.queue === queue { return same.number }
    let number = nextNumber()
    // The address of a released queue can be used again.
    if knownQueues.updateValue(KnownQueue(queue: queue, number: number), forKey: id) != nil {
      queueOrder.removeAll { $0 == id }
    }
    queueOrder.append(id)
    return number
  }

  mutating func subject(of queue: any SteppedQueue, label: String) -> StepSubject {
    let number = number(of: queue)
    if let same = knownQueues[ObjectIdentifier(queue)]?.subject { return same }
    let new = StepSubject(number: number, name: unique(label))
    knownQueues[ObjectIdentifier(queue)]?.subject = new
    return new
  }

  /// Returns a new subject for code that isn't an operation.
  mutating func newSubject(_ name: String) -> StepSubject {
    StepSubject(number: nextNumber(), name: unique(name))
  }

  /// The numbers of the operations.
  var numbers: [ObjectIdentifier: UInt64] { known.mapValues(\.number) }

  // MARK: Steps

  /// Returns the identity and the name of a step, if a subject may have several steps of the kind.
  mutating func step(
    _ kind: StepKind,
    _ name: String,
    of subject: StepSubject
  ) -> (identity: Fingerprint, name: String) {
    (step(kind, of: subject), unique(name))
  }

  /// Returns the identity of a step, if a subject may have several steps of the kind.
  mutating func step(_ kind: StepKind, of subject: StepSubject) -> Fingerprint {
    counted(kind, Fingerprint(kind, of: subject.number))
  }

  private mutating func counted(_ kind: StepKind, _ of: Fingerprint) -> Fingerprint {
    stepCounts[of, default: 0] += 1
    return Fingerprint(kind, of: of, count: stepCounts[of] ?? 1)
  }

  /// Returns the kind, verb and subject of a step of a queue.
  mutating func describe(
    _ step: WorkerStep,
    label: String,
    place: (queue: any SteppedQueue, number: UInt32)?
  ) -> (kind: StepKind, verb: String, subject: StepSubject) {
    switch step {
    case .decide(let queue): (.decide, "worker of", subject(of: queue, label: label))
    case .barrier(let queue): (.barrier, "barrier of", subject(of: queue, label: label))
    case .evaluate(let operation):
      (.evaluate, "evaluate", record(of: operation, label: label, place: place).subject)
    case .start(let operation):
      (.start, "start", record(of: operation, label: label, place: place).subject)
    case .complete(let operation):
      (.complete, "completion of", record(of: operation, label: label, place: place).subject)
    }
  }

  /// Describes a job; a task keeps its first name.
  ///
  /// The runtime has jobs that aren't tasks, and that all have the same identity: a yield of a task, and the
  /// turn in which an actor runs calls. Such a job has the name of the task that added it, which is the task
  /// of the place.
  mutating func job(_ identity: String, addedIn place: StepPlace) -> StepJob {
    if identity.hasSuffix("(id: nil)") {
      let task =
        place.task
        ?? StepTask(
          number: Fingerprint(.task, of: place.subject.number),
          name: "task of \(place.subject.name)"
        )
      if place.isInTask {
        return StepJob(
          identity: Fingerprint(.yield, of: task.number),
          name: task.name,
          subject: place.subject,
          task: task,
          isYield: true
        )
      }
      return StepJob(
        identity: counted(.actorTurn, Fingerprint(.actorTurn, of: task.number)),
        name: "actor turn of \(place.subject.name)",
        subject: place.subject,
        task: task
      )
    }
    let (task, subject) = tasks[identity] ?? newTask(identity, of: place.subject)
    return StepJob(identity: task.number, name: task.name, subject: subject, task: task)
  }

  private mutating func newTask(
    _ identity: String,
    of subject: StepSubject
  ) -> (task: StepTask, subject: StepSubject) {
    let (number, name) = step(.task, "task of \(subject.name)", of: subject)
    let new = (task: StepTask(number: number, name: name), subject: subject)
    tasks[identity] = new
    return new
  }

  // MARK: Records

  func took(_ step: String, for subject: StepSubject, at time: Duration) {
    records[subject.number]?.took(step, at: time)
  }

  func sleeps(_ subject: StepSubject) { records[subject.number]?.sleeps() }

  var operations: [WatchedOperation] { order }

  var queues: [any SteppedQueue] { queueOrder.compactMap { knownQueues[$0]?.queue } }
}

/// A job of a task or an actor, as a step.
struct StepJob {
  let identity: Fingerprint
  let name: String
  /// The operation or queue that the job is for.
  let subject: StepSubject
  /// The task that the job is, or belongs to.
  let task: StepTask
  /// Whether the job is a yield of the task.
  var isYield = false
}
