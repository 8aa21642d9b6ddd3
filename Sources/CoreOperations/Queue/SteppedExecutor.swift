/// An executor that decides every step by itself, for simulations.
///
/// A queue on such an executor enqueues single steps instead of workers. A decision and its execution are two
/// steps. Other steps may run in between, as on real threads.
package protocol SteppedExecutor: OperationExecutor {
  /// Runs a step once, on another stack.
  func enqueue(_ step: WorkerStep, _ body: @escaping @Sendable () -> Void)
  /// Notifies the executor of a new queue that runs on it.
  func didCreate(_ queue: any SteppedQueue)
}

/// A kind of step of a queue, with its subject.
package enum WorkerStep: Sendable {
  /// Decide the next step of the queue.
  case decide(any SteppedQueue)
  /// Evaluate the conditions of an operation.
  case evaluate(Operation)
  /// Start an operation whose start was decided.
  case start(Operation)
  case barrier(any SteppedQueue)
  /// Run a completion block.
  case complete(Operation)
}

extension WorkerStep {
  /// The label of the operation or queue.
  package var label: String {
    switch self {
    case .decide(let queue), .barrier(let queue): queue.label
    case .evaluate(let operation), .start(let operation), .complete(let operation):
      operation.label
    }
  }

  /// The place in its queue of the operation that the step is about.
  package var place: (queue: any SteppedQueue, number: UInt32)? {
    switch self {
    case .decide, .barrier: nil
    case .evaluate(let operation), .start(let operation), .complete(let operation):
      operation.placeInQueue
    }
  }
}

/// The interface through which a simulation accesses a queue that it runs.
///
/// The object exists as long as a step or a member of the queue does, and so maybe longer than the
/// `OperationQueue`.
package protocol SteppedQueue: AnyObject, Sendable {
  /// The name that was set, if one was.
  var givenName: String? { get }
  /// The members that have not finished.
  var unfinishedMembers: [Operation] { get }
  /// Returns numbers that are equal for equal states, so that an exploration needs to continue from only one
  /// of equal states.
  ///
  /// - Parameter number: A number for each operation, the same in every run.
  /// - Returns: All values that determine the later behavior of the queue.
  func fingerprint(_ number: (Operation) -> UInt64) -> [UInt64]
  /// Returns the number of a member in the order of adding.
  func number(of operation: Operation) -> UInt32
  /// Releases everything that the queue retains, because nothing will run it any more. Operations that are
  /// added later are turned away.
  ///
  /// - Returns: The members, which aren't in a queue any more. Call ``Operation/wasAbandoned()`` on each
  ///   member before you release any of them, so that the release of a chain doesn't nest.
  func abandon() -> [Operation]
}

extension SteppedQueue {
  /// The name, or “queue”.
  package var label: String { givenName ?? "queue" }
}

extension Operation {
  /// The queue of the operation, and its number in the order in which operations were added there;
  /// nil if it isn't in a queue.
  final var placeInQueue: (queue: any SteppedQueue, number: UInt32)? {
    scheduler.map { ($0, $0.number(of: self)) }
  }
}

// The end of an operation whose queue a simulation has abandoned: it never finishes.

extension Operation {
  /// Releases the objects that the operation retains, because nothing will run it any more.
  ///
  /// Code of the program isn't called, except by a `deinit`. The operation keeps its state and its name, but
  /// has no dependencies any more.
  package final func wasAbandoned() {
    layer?.releaseAsAbandoned()
    letGoOfWork()
    let completion = withLinks { $0.extra?.completionBlock.take() }
    withExtendedLifetime(completion) {}
    forgetDependencies()
  }

  /// Removes all dependencies, finished or not.
  ///
  /// - Complexity: O(n), n the number of dependencies that are released, with constant stack depth.
  package final func forgetDependencies() {
    unlinkDependencies()
    let dependencies = withDependencyList { exchange(&$0, with: DependencyList()) }
    // Another thread may have added a dependency that is still linked.
    DependencyTeardown.release(dependencies, areOpen: true)
  }
}

/// The end of a queue that nothing runs any more, because its simulation was abandoned.
extension SchedulerState {
  /// The contents of an abandoned queue.
  ///
  /// The caller releases them without the lock.
  struct Abandoned {
    let members: [Operation]
    let barriers: FirstInFirstOut<PendingBarrier>
    let owner: OperationQueue?
    let gate: (any ArrivalGate)?
  }

  /// Removes everything that the queue keeps alive.
  ///
  /// Waiters stay: the queue never becomes empty for them, and a continuation that is released
  /// without being resumed is reported by the standard library.
  ///
  /// - Parameter gate: A gate that turns away operations that are added later.
  /// - Returns: The contents of the queue.
  mutating func abandoned(closedBy gate: any ArrivalGate) -> Abandoned {
    let abandoned = Abandoned(
      members: members.operations,
      barriers: exchange(&barriers, with: FirstInFirstOut()),
      owner: owner.take(),
      gate: exchange(&self.gate, with: gate)
    )
    for _ in 0..<abandoned.barriers.count { PendingBarriers.ended() }
    for operation in abandoned.members {
      let member = Member(operation)
      operation.withLinks { $0.leave() }
      members.remove(member)
      self[member].abandoned()
      // The array has a reference too, so this isn't the last one.
      _ = member.released()
    }
    releases = [:]
    ready = ReadyLine()
    slotless = ReadyLine()
    granted = ReadyLine()
    service = MemberLine()
    // A worker that was requested never runs.
    isWorkerRequested = false
    loopingWorkers = 0
    slotsInUse = 0
    activeMembers = 0
    return abandoned
  }
}

/// Turns away all operations that are added to an abandoned queue.
final class AbandonedQueueGate: ArrivalGate {
  func admits(
    _ operations: [Operation],
    to queue: OperationQueue,
    neededBy member: Operation?
  ) -> [Operation] { [] }

  /// A thread added the operations while another one abandoned the queue.
  func arrived(_ operations: [Operation], in queue: OperationQueue, neededBy member: Operation?) {
    let members = queue.scheduler.abandon()
    for operation in members { operation.wasAbandoned() }
  }
}

/// The values that distinguish two states of a queue, so that an exploration needs to continue from only one
/// of equal states.
extension SchedulerState {
  func fingerprint(_ number: (Operation) -> UInt64) -> [UInt64] {
    var numbers: [UInt64] = [
      isSuspended ? 1 : 0, UInt64(bitPattern: Int64(requestedLimit)), UInt64(slotsInUse),
      UInt64(servedWithoutSlot), UInt64(barriers.count), UInt64(activeMembers),
      isBarrierRunning ? 1 : 0, UInt64(loopingWorkers), isWorkerRequested ? 1 : 0,
      UInt64(blockedStarts),
    ]
    // In the order of adding, in which operations of one priority start.
    for operation in members.operations {
      let fields = self[Member(operation)]
      numbers.append(number(operation))
      numbers.append(UInt64(operation.life.current.rawValue))
      numbers.append(UInt64(operation.readiness.current.rawValue))
      let bits = UInt64(fields.flags.rawValue)
      numbers.append(bits << 16 | UInt64(fields.level) << 8 | UInt64(fields.placement.rawValue))
      if let release = releases[ObjectIdentifier(operation)] { numbers.append(release.fingerprint) }
    }
    numbers.append(.max)
    numbers += service.few().map { number($0.operation) }
    return numbers
  }
}

extension SchedulerState.Step {
  /// The step as a kind for executors that decide every step; nil if there is nothing to do.
  func described(by queue: any SteppedQueue) -> WorkerStep? {
    switch self {
    case .leave, .linger: nil
    case .evaluate(let operation): .evaluate(operation)
    case .start(let member, _): .start(member.operation)
    case .barrier: .barrier(queue)
    case .run, .end: internalError("a queue with an executor of steps had a closure")
    }
  }
}
