import CoreOperations

/// Runs one operation after the other for one that is executing: attempts, or rounds.
///
/// Each runs in a queue of their own, without threads: none takes a slot where the owner has its
/// own. What it produces belongs to it, and has ended before the next one begins.
final class OperationRounds: ChildRunner {
  /// Why what is or comes in a round is cancelled.
  private enum Stop {
    /// The owner was cancelled; with its reason.
    case owner
    case limit(OperationFailure.Element)
  }

  private struct State {
    /// Where the operations run; made for the first one.
    var queue: AdvancedOperationQueue?
    /// The operation of this round, first, and those that were produced in it, or that it depends
    /// on.
    var round = Children()
    /// Those of the members that were added because the operation of the round depends on them.
    var predecessors: Set<ObjectIdentifier> = []
    var roundStop: Stop?
    var isStopped = false
    /// Whether the owner has ended.
    var isOver = false
    /// The number of the round, 0 before the first: a timer of an earlier one does nothing.
    var number = 0

    /// Takes the queue out once it isn't needed any more, to be released without the lock.
    mutating func takeQueueIfOver() -> AdvancedOperationQueue? {
      switch round.phase {
      case .waiting, .closed: isOver ? queue.take() : nil
      case .beginning, .running: nil
      }
    }
  }

  /// Whether the progress of what a round began with is that of the owner.
  private let passesProgress: Bool
  private let state = Locked(State())

  init(passingProgress: Bool = false) { passesProgress = passingProgress }

  private func queue(for owner: AdvancedOperation) -> AdvancedOperationQueue {
    if let queue = state.withLock({ $0.queue }) { return queue }
    let queue = AdvancedOperationQueue(environment: owner.environment)
    queue.name = owner.label
    state.withLock { $0.queue = queue }
    return queue
  }

  /// What went wrong in a round.
  struct Failures {
    /// With the operation that the round was begun with.
    var own: [OperationFailure.Element] = []
    /// With what that has produced.
    var produced: [OperationFailure.Element] = []

    var all: [OperationFailure.Element] { own + produced }
  }

  /// Runs a round, and waits until all of it is quiet.
  ///
  /// - Parameters:
  ///   - operation: In no queue yet; run with its predecessors that are in none either.
  ///   - owner: What it is a child of.
  ///   - limit: When to cancel it.
  /// - Returns: What went wrong, also when the owner was cancelled; without its reason then.
  func run(
    _ operation: AdvancedOperation,
    of owner: AdvancedOperation,
    until limit: RetryRun.Limit? = nil
  ) async -> Failures {
    let number = state.withLock { state in
      state.number += 1
      state.round = Children()
      state.round.begins()
      state.roundStop = state.isStopped ? .owner : nil
      return state.number
    }
    let predecessors = Workflow.claim(endingWith: operation).filter { $0 !== operation }
    _ = add(operation, of: owner)
    addPredecessors(predecessors, of: owner)
    let timer = limit.map { limit in
      owner.environment.clock.schedule(at: limit.time) { self.stopRound(number, limit.element) }
    }
    state.withLock { $0.round.begun() }.wake()
    await state.untilAllEnded(\.round)
    timer?.cancel()
    let (members, before, isStopped, queue) = state.withLock { state in
      let before = exchange(&state.predecessors, with: [])
      return (state.round.taken(), before, state.isStopped, state.takeQueueIfOver())
    }
    withExtendedLifetime(queue) {}
    var failures = Failures()
    // What went wrong with a predecessor is the operation's to report, if it matters to it.
    for case let member as AdvancedOperation in members
    where !before.contains(ObjectIdentifier(member)) {
      let elements = member.elementsForParent(isCancelledByParent: isStopped)
      if member === operation {
        failures.own = elements
      } else {
        failures.produced += elements.inChild(member)
      }
    }
    return failures
  }

  private func addPredecessors(_ operations: [Operation], of owner: AdvancedOperation) {
    for operation in operations {
      guard let advanced = operation as? AdvancedOperation else {
        queue(for: owner).addOperation(operation)
        continue
      }
      state.withLock { _ = $0.predecessors.insert(ObjectIdentifier(advanced)) }
      _ = add(advanced, of: owner)
    }
  }

  /// Takes in what was produced in a round; returns whether that was still going on.
  ///
  /// In a round that was cancelled, what is produced is cancelled too, and the round doesn't wait
  /// for it: operations that produce others at their ends would keep it forever.
  func adopt(_ operation: AdvancedOperation, of owner: AdvancedOperation) -> Bool {
    let (isTaken, stop) = state.withLock { state in
      let phase = state.round.phase
      return (!state.isOver && (phase == .beginning || phase == .running), state.roundStop)
    }
    if let stop, isTaken {
      owner.environment.turnAway([operation]) { _ in cancel(operation, because: stop, of: owner) }
      return true
    }
    return !isOver && add(operation, of: owner)
  }

  private func cancel(
    _ operation: AdvancedOperation,
    because stop: Stop,
    of owner: AdvancedOperation
  ) {
    switch stop {
    case .owner: operation.cancelAsChild(reason: owner.cancellationReason)
    case .limit(let element): operation.cancel(reason: element)
    }
  }

  private func add(_ operation: AdvancedOperation, of owner: AdvancedOperation) -> Bool {
    let (number, stop) = state.withLock { state -> (Int?, Stop?) in
      guard state.round.phase != .waiting else { return (nil, nil) }
      switch state.round.comes(CollectionOfOne(operation)) {
      case .turnAway, .refuseAsTooLate: return (nil, nil)
      case .take(let number):
        state.round.came(number..<number + 1)
        return (number, state.roundStop)
      }
    }
    guard let number else { return false }
    operation.withCore { $0.makeExtra().group = owner }
    operation.afterIdle { _ in self.state.withLock { $0.round.ended(number) }.wake() }
    if let stop { cancel(operation, because: stop, of: owner) }
    let queue = queue(for: owner)
    queue.addOperation(operation)
    RunTimeCycles.checkChildren(CollectionOfOne(operation), in: queue.scheduler)
    return true
  }

  /// Whether the owner has ended.
  var isOver: Bool { state.withLock { $0.isOver } }

  /// The owner is idle, and takes nothing in any more; a round that is running goes on.
  func ownerIsIdle() {
    let queue = state.withLock { state in
      state.isOver = true
      return state.takeQueueIfOver()
    }
    withExtendedLifetime(queue) {}
  }

  var hasWaitingChildren: Bool { false }

  /// What has not ended.
  var openChildren: [Operation] {
    state.withLock { $0.round.operations }.filter(\.isOpenAsChild)
  }

  func child(
    _ child: AdvancedOperation,
    didUpdateProgress update: OperationProgress,
    of owner: AdvancedOperation
  ) -> ProgressNews? {
    // Not of something that the round has produced.
    guard passesProgress, state.withLock({ $0.round.first === child }) else { return nil }
    return owner.says { update }
  }

  // MARK: Cancelling

  /// The owner was cancelled: so is what is going on, and what may still come.
  func stop(reason: (any Error)?) {
    cancelMembers { state in
      state.isStopped = true
      state.roundStop = .owner
      return true
    } _: {
      $0.cancelAsChild(reason: reason)
    }
  }

  private func stopRound(_ number: Int, _ element: OperationFailure.Element) {
    cancelMembers { state in
      guard state.number == number else { return false }
      if state.roundStop == nil { state.roundStop = .limit(element) }
      return true
    } _: {
      ($0 as? AdvancedOperation)?.cancel(reason: element)
    }
  }

  private func cancelMembers(_ isDue: (inout State) -> Bool, _ cancel: (Operation) -> Void) {
    let (members, queue) = state.withLock { state in
      (isDue(&state) ? state.round.operations : [], state.queue)
    }
    queue?.withoutStarts { members.cancelTogether(cancel) }
  }
}

/// An operation that another one has made to run it, and the value that it gives.
struct MadeOperation<Value: Sendable>: Sendable {
  let operation: AdvancedOperation
  /// The value of the operation, once it is quiet and hasn't failed.
  let value: @Sendable () throws -> Value

  init(operation: AdvancedOperation, value: @escaping @Sendable () throws -> Value) {
    self.operation = operation
    self.value = value
  }

  init(giving operation: ResultOperation<Value>) {
    self.operation = operation
    value = {
      if case .skipped(let reason) = operation.outcome { throw OperationSkipped(reason: reason) }
      guard let result = operation.result else {
        trap("the value of “\(operation.label)” was taken before it was decided")
      }
      return try result.get()
    }
  }

  /// Any operation, which gives the value that there is.
  init(any operation: AdvancedOperation) where Value == Void {
    self.operation = operation
    value = {}
  }
}
