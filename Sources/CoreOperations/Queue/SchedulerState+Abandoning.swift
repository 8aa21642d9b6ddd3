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
      member.fields.abandoned()
      // The array has a reference too, so this isn't the last one.
      _ = member.released()
    }
    ready = ReadyLine()
    helping = ReadyLine()
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
