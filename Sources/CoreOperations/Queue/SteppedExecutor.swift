/// An executor that decides every step by itself; for simulations.
///
/// A queue on such an executor hands it single steps instead of workers: what is decided and what
/// is done because of it are two steps, and others may come in between, as they may on real
/// threads.
package protocol SteppedExecutor: OperationExecutor {
  /// Runs a step, once, and on another stack.
  func enqueue(_ step: WorkerStep, _ body: @escaping @Sendable () -> Void)
  /// A queue was created that runs on this executor.
  func didCreate(_ queue: any SteppedQueue)
}

/// What a step of a queue is about.
package enum WorkerStep: Sendable {
  /// Decide what is done next.
  case decide(any SteppedQueue)
  /// Ask for the conditions of an operation.
  case evaluate(Operation)
  /// Start an operation that was decided on.
  case start(Operation)
  case barrier(any SteppedQueue)
  /// Run a completion block.
  case complete(Operation)
}

extension WorkerStep {
  /// What the operation or queue calls itself.
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

/// What a simulation sees of a queue that it runs; there as long as one of its steps or members is,
/// and so maybe longer than the `OperationQueue`.
package protocol SteppedQueue: AnyObject, Sendable {
  /// The name that was set, if one was.
  var givenName: String? { get }
  /// The members that have not finished.
  var unfinishedMembers: [Operation] { get }
  /// Numbers that are equal for equal states, for explorations that need not go on from equal ones.
  ///
  /// - Parameter number: A number for each operation, the same in every run.
  /// - Returns: All that decides what the queue does later.
  func fingerprint(_ number: (Operation) -> UInt64) -> [UInt64]
  /// The number of a member in the order of adding.
  func number(of operation: Operation) -> UInt32
  /// Releases all that the queue holds, because nothing will run it any more. Operations that are
  /// added later aren't taken in.
  ///
  /// - Returns: The members, which are in no queue any more. Call ``Operation/wasAbandoned()`` on
  ///   each before any of them is released, so that the release of a chain doesn't nest.
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
  /// Releases what the operation holds, because nothing will run it any more.
  ///
  /// Code of the program isn't called, except by a `deinit`. The operation keeps its state and its
  /// name; it has no dependencies from here on.
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
    // Another thread may have added one that is still linked.
    DependencyTeardown.release(dependencies, areOpen: true)
  }
}

/// The end of a queue that nothing runs any more, because its simulation was abandoned.
extension SchedulerState {
  /// What the queue held; the caller releases it without the lock.
  struct Abandoned {
    let members: [Operation]
    let barriers: FirstInFirstOut<PendingBarrier>
    let owner: OperationQueue?
    let gate: (any ArrivalGate)?
  }

  /// Takes out everything that the queue keeps alive.
  ///
  /// Waiters stay: the queue never becomes empty for them, and a continuation that is released
  /// without being resumed is reported by the standard library.
  ///
  /// - Parameter gate: Turns away operations that are added later.
  /// - Returns: What the queue held.
  mutating func abandoned(closedBy gate: any ArrivalGate) -> Abandoned {
    let abandoned = Abandoned(
      members: members.operations,
      barriers: exchange(&barriers, with: FirstInFirstOut()),
      owner: owner.take(),
      gate: exchange(&self.gate, with: gate)
    )
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
    // A worker that was requested doesn't come.
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

/// What tells two states of a queue apart, for explorations that need not go on from equal ones.
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
  /// What the step is about, for executors that decide every step; nil when there is nothing to do.
  func described(by queue: any SteppedQueue) -> WorkerStep? {
    switch self {
    case .leave, .linger: nil
    case .evaluate(let operation): .evaluate(operation)
    case .start(let member, _): .start(member.operation)
    case .barrier: .barrier(queue)
    case .run, .end: trap("a queue with an executor of steps had a closure")
    }
  }
}
