import CoreOperations

/// Runs operations one after the other for an executing operation, as its attempts or rounds.
///
/// The operations run in a separate queue without threads, so they take no slots of the owner's queue. The
/// operations that a round produces belong to the round, and have ended before the next round begins.
final class OperationRounds: ChildRunner {
  /// The reason for cancelling the operations of a round.
  private enum Stop {
    /// The owner was cancelled, and the operations are cancelled with its reason.
    case owner
    case limit(OperationFailure.Element)
  }

  private struct State {
    /// The queue in which the operations run, created for the first operation.
    var queue: AdvancedOperationQueue?
    /// The operation of this round as the first child, and the operations that it depends on or that were
    /// produced in the round.
    var round = Children()
    /// The members that were added because the operation of the round depends on them.
    var predecessors: Set<ObjectIdentifier> = []
    var roundStop: Stop?
    var isStopped = false
    /// A Boolean value that indicates whether the owner has ended.
    var isOver = false
    /// The number of the round, 0 before the first round, so that the timer of an earlier round does nothing.
    var number = 0

    /// Takes the queue out if it isn't needed any more, so that the caller releases it without the lock.
    mutating func takeQueueIfOver() -> AdvancedOperationQueue? {
      switch round.phase {
      case .waiting, .closed: isOver ? queue.take() : nil
      case .beginning, .running: nil
      }
    }
  }

  /// A Boolean value that indicates whether the owner reports the progress of the first operation of a round
  /// as its own.
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

  /// The errors of a round.
  struct Failures {
    /// The errors of the operation that the round began with.
    var own: [OperationFailure.Element] = []
    /// The errors of operations that were produced in the round.
    var produced: [OperationFailure.Element] = []

    var all: [OperationFailure.Element] { own + produced }
  }

  /// Runs a round, and waits until all of its operations are idle.
  ///
  /// - Parameters:
  ///   - operation: An operation that isn't in a queue yet. Its predecessors that aren't in a queue run with
  ///     it.
  ///   - owner: The operation that becomes the parent.
  ///   - limit: The time at which the operation is cancelled.
  /// - Returns: The errors of the round, even if the owner was cancelled. The reason of the owner's cancel
  ///   isn't among them.
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
    // The operation reports the errors of a predecessor itself, if they matter to it.
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

  /// Accepts an operation that was produced in a round; returns whether the round was still running.
  ///
  /// If the round was cancelled, the produced operation is cancelled too, and the round doesn't wait for it.
  /// Otherwise operations that produce others when they end would keep the round running forever.
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
    operation.afterIdle { [weak owner] _ in
      owner?.noteProgress()
      self.state.withLock { $0.round.ended(number) }.wake()
    }
    if let stop { cancel(operation, because: stop, of: owner) }
    let queue = queue(for: owner)
    queue.addOperation(operation)
    RunTimeCycles.checkChildren(CollectionOfOne(operation), in: queue.scheduler)
    return true
  }

  /// A Boolean value that indicates whether the owner has ended.
  var isOver: Bool { state.withLock { $0.isOver } }

  /// Stops accepting operations, because the owner is idle.
  ///
  /// A round that is running continues.
  func ownerIsIdle() {
    let queue = state.withLock { state in
      state.isOver = true
      return state.takeQueueIfOver()
    }
    withExtendedLifetime(queue) {}
  }

  var hasWaitingChildren: Bool { false }

  /// The operations of the round that haven't ended.
  var openChildren: [Operation] {
    state.withLock { $0.round.operations }.filter(\.isOpenAsChild)
  }

  func child(
    _ child: AdvancedOperation,
    didUpdateProgress update: OperationProgress,
    of owner: AdvancedOperation
  ) -> ProgressNews? {
    // The owner doesn't report the progress of operations that the round has produced.
    guard passesProgress, state.withLock({ $0.round.first === child }) else { return nil }
    return owner.says { update }
  }

  // MARK: Cancelling

  /// Cancels the operations of the current round and of later rounds, because the owner was cancelled.
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

/// An operation that another operation has created in order to run it, and the value that it returns.
struct MadeOperation<Value: Sendable>: Sendable {
  let operation: AdvancedOperation
  /// The value of the operation, if it is idle and hasn't failed.
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
        internalError("the value of “\(operation.label)” was taken before it was decided")
      }
      return try result.get()
    }
  }

  /// Wraps any operation, with `Void` as its value.
  init(any operation: AdvancedOperation) where Value == Void {
    self.operation = operation
    value = {}
  }
}
