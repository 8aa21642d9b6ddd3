import CoreOperations

/// Runs one operation after the other for one that is executing: attempts, or rounds.
///
/// Each runs in a queue of their own, without threads: none takes a slot where the owner has its
/// own. What it produces belongs to it, and has ended before the next one begins.
final class OperationRounds: Sendable {
  /// Why what is or comes in a round is cancelled.
  private enum Stop {
    /// The owner was cancelled; with its reason.
    case owner
    case limit(OperationFailure.Element)
  }

  private struct State {
    /// Where the operations run; made for the first one.
    var queue: AdvancedOperationQueue?
    /// The operation of this round, and those that were produced in it, or that it depends on.
    var members: [AdvancedOperation] = []
    /// Those of the members that were added because the operation of the round depends on them.
    var predecessors: Set<ObjectIdentifier> = []
    var open = OpenCount()
    var roundStop: Stop?
    var isStopped = false
    /// The number of the round: a timer of an earlier one does nothing.
    var number = 0
  }

  private let state = Locked(State())

  init() {}

  private func queue(for owner: AdvancedOperation) -> AdvancedOperationQueue {
    if let queue = state.withLock({ $0.queue }) { return queue }
    let queue = AdvancedOperationQueue(environment: owner.environment)
    queue.name = owner.label
    state.withLock { $0.queue = queue }
    return queue
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
  ) async -> [OperationFailure.Element] {
    let number = state.withLock { state in
      state.number += 1
      state.open.add()
      state.roundStop = state.isStopped ? .owner : nil
      return state.number
    }
    let predecessors = Workflow.claim(endingWith: operation).filter { $0 !== operation }
    _ = add(operation, of: owner)
    addPredecessors(predecessors, of: owner)
    let timer = limit.map { limit in
      owner.environment.clock.schedule(at: limit.time) { self.stopRound(number, limit.element) }
    }
    memberEnded()
    await state.untilAllEnded(\.open)
    timer?.cancel()
    let (members, isStopped) = state.withLock { state in
      // What went wrong with a predecessor is the operation's to report, if it matters to it.
      let members = state.members.filter { !state.predecessors.contains(ObjectIdentifier($0)) }
      state.members = []
      state.predecessors = []
      return (members, state.isStopped)
    }
    return members.enumerated().flatMap { index, member in
      let elements = member.elementsForParent(isCancelledByParent: isStopped)
      return index == 0 ? elements : elements.map { $0.inChild(member.label) }
    }
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

  /// Takes in the operation of the round, or one that was produced in it.
  ///
  /// - Returns: Whether the round was still going on.
  func add(_ operation: AdvancedOperation, of owner: AdvancedOperation) -> Bool {
    let (isInTime, stop) = state.withLock { state in
      guard state.open.count > 0 else { return (false, state.roundStop) }
      state.open.add()
      state.members.append(operation)
      return (true, state.roundStop)
    }
    guard isInTime else { return false }
    operation.withCore { $0.makeExtra().group = owner }
    operation.afterQuiet { _ in self.memberEnded() }
    switch stop {
    case nil: break
    case .owner: operation.cancelAsChild(reason: owner.cancellationReason)
    case .limit(let element): operation.cancel(reason: element)
    }
    let queue = queue(for: owner)
    queue.addOperation(operation)
    WaitRings.lookAtChildren(CollectionOfOne(operation), in: queue)
    return true
  }

  /// What has not ended.
  var openMembers: [Operation] {
    state.withLock { $0.members }.filter { !$0.withCore { $0.machine.isQuiet } }
  }

  /// Whether this is what the round began with, and not something that it produced.
  func isRound(_ operation: AdvancedOperation) -> Bool {
    state.withLock { $0.members.first === operation }
  }

  private func memberEnded() { state.withLock { $0.open.ended() }?.resume() }

  // MARK: Cancelling

  /// The owner was cancelled: so is what is going on, and what may still come.
  func stop(reason: (any Error)?) {
    let (members, queue) = state.withLock { state in
      state.isStopped = true
      state.roundStop = .owner
      return (state.members, state.queue)
    }
    queue?.withoutStarts { members.cancelTogether { $0.cancelAsChild(reason: reason) } }
  }

  private func stopRound(_ number: Int, _ element: OperationFailure.Element) {
    let (members, queue) = state.withLock { state in
      guard state.number == number else { return ([AdvancedOperation](), state.queue) }
      if state.roundStop == nil { state.roundStop = .limit(element) }
      return (state.members, state.queue)
    }
    queue?.withoutStarts { members.cancelTogether { $0.cancel(reason: element) } }
  }
}

extension AdvancedOperation {
  /// What an operation that has ended adds to the errors of its group.
  ///
  /// - Parameters:
  ///   - isCancelledByParent: Whether the group has cancelled its children, so that the reason is
  ///     its own.
  ///   - isPlainCancelAnError: Whether a cancel without a reason, by other code, is one.
  /// - Returns: The errors with their origins in the child.
  final func elementsForParent(
    isCancelledByParent: Bool,
    isPlainCancelAnError: Bool = true
  ) -> [OperationFailure.Element] {
    if isRecovered { return [] }
    switch outcome {
    case .succeeded, .skipped, nil: return []
    case .failed(let failure): return failure.elements
    case .cancelled(let failure):
      if isCancelledByParent { return failure.elements.filter { $0.origin != .cancel } }
      if !failure.elements.isEmpty || !isPlainCancelAnError { return failure.elements }
      return [.init(origin: .cancel, error: CancellationError())]
    }
  }
}

extension OperationFailure.Element {
  /// The same as that of a child.
  func inChild(_ name: String) -> Self {
    from(.child(name, origin))
  }
}
